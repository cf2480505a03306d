import { join } from 'node:path'
import { startProxy } from '#proxy'
import { type Connection } from './config/connect.ts'
import { configDirectory } from './config/directories.ts'

/** The local proxy for one command, as the signed-in user. Closing it closes every listener. */
export function openProxy({ signIn, headers }: Connection): ReturnType<typeof startProxy> {
  return startProxy({
    managerUrl: signIn.endpoint,
    credentials: () => Promise.resolve(headers),
    dataDir: join(configDirectory(), 'proxy'),
  })
}
