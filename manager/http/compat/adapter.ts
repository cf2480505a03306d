import { createServer } from 'node:net'
import { createMutex } from '#base/mutex'
import { AppError, because } from '#manager/contract'
import { type Peers } from '../../cluster/peers.ts'
import { type Settings } from '../../settings/settings.ts'
import { type CompatServer, type CompatServerDeps, startCompatServer } from './server.ts'

/** The adapter for clients of Backend.AI at the port that the settings name. */
export interface CompatAdapter extends AsyncDisposable {
  /** Opens, moves or closes the port as the settings say now, at this manager and the others. */
  settingsChanged(): Promise<void>
}

export interface CompatAdapterDeps extends Omit<CompatServerDeps, 'port'> {
  readonly settings: Pick<Settings, 'read'>
  readonly peers: Peers
}

/**
 * Follows the setting `backendAiPort`. Every manager on the database opens the port on its own computer. A port that cannot be opened is
 * logged and tried again when the settings change or a message of other managers may be lost; requests to it are not lost, because nobody
 * answers them.
 */
export async function startCompatAdapter(deps: CompatAdapterDeps): Promise<CompatAdapter> {
  const { settings, log } = deps
  const topic = deps.peers.topic<null>('backend_ai_port')
  const mutex = createMutex()
  let open: { readonly wanted: number; readonly server: CompatServer } | undefined
  let isClosed = false

  async function close(): Promise<void> {
    const { server } = open ?? {}
    open = undefined
    await server?.[Symbol.asyncDispose]()
  }

  const follow = () =>
    mutex(async () => {
      const { backendAiPort: port } = await settings.read()
      if (isClosed || port === (open?.wanted ?? null)) return
      await close()
      if (port === null) return
      try {
        open = { wanted: port, server: await startCompatServer({ ...deps, port }) }
        log.info({ port }, 'clients of Backend.AI are answered')
      } catch (error) {
        log.error({ err: error, port }, 'the port for clients of Backend.AI could not be opened')
      }
    })
  const followQuietly = () =>
    void follow().catch((error: unknown) => log.warn({ err: error }, 'settings could not be read'))

  topic.on(followQuietly)
  deps.peers.onGap(followQuietly)
  await follow()
  return {
    async settingsChanged() {
      topic.tell(null)
      await follow()
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await mutex(close)
    },
  }
}

/** Checks that the port can be opened on this computer. @throws AppError `bad_request` */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port }, resolve)
    })
  } catch (error) {
    throw new AppError('bad_request', because('compat_port_taken', { port }), { cause: error })
  } finally {
    await new Promise<void>(resolve => void server.close(() => resolve()))
  }
}
