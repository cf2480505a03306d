import { createStreams, type Streams } from '../../agent/tunnel/streams.ts'
import { SESSION } from './tunnel-names.ts'

export const log = { debug: () => undefined, warn: console.error }

/** The real end of tunnels in an agent whose containers are simulated: their one app is a service on this machine. */
export function streamsTo(app: string, port: number, directKey?: string): Streams {
  return createStreams({
    kernels: {
      find: kernelId => ({
        kernelId,
        sessionId: SESSION,
        containerId: 'none',
        address: '127.0.0.1',
        user: '0:0',
        apps: [{ name: app, port }],
      }),
      ensureApp: () => Promise.resolve(),
    },
    commands: {
      attach: () => {
        throw new Error('there is no command here')
      },
    },
    docker: {
      getContainer: () => {
        throw new Error('there is no container')
      },
    },
    directKey,
    log,
  })
}
