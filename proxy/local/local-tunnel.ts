import { type Socket } from 'node:net'
import { randomUUID } from 'node:crypto'
import { type ApiClient, type App, AppError, because, type Grant, isWebApp, type Session } from '#manager/contract'
import { type Tunnel, type TunnelId } from '#proxy/contract'
import { type TunnelOutcome } from '#manager/tunnel-end'
import { type Line } from '../dial/dial-line.ts'
import { createKeptWires, type KeptWires } from '../dial/kept-wires.ts'
import { appOf } from '../grants/app-of.ts'
import { injectionOf } from '../grants/injection.ts'
import { createPath, type Path, type PathLimits } from '../grants/path.ts'
import { createAppOrigin, type AppOrigin } from '../http-origins/app-origin.ts'
import { type LoopbackListener } from '../listeners/loopback-listener.ts'
import { type Log } from '../log.ts'
import { openAppStream } from './app-stream.ts'
import { refusalOf } from './refusal.ts'
import { type Transport } from './transport.ts'

/** A session, as its tunnels know it. */
export interface TunnelledSession extends Pick<Session, 'id' | 'name'> {
  /** Whether another person shares it with the user, and has chosen its name. */
  readonly isOthers: boolean
  /** See `rememberedAs`. */
  readonly rememberedAs: string
}

export interface LocalTunnelDeps {
  readonly api: Pick<ApiClient, 'createGrant' | 'renewGrant'>
  readonly transport: Transport
  readonly session: TunnelledSession
  readonly appName: string
  /** Binds the port. Connections that arrive before the app is known have to wait. */
  readonly listen: (onConnection: (socket: Socket) => void) => Promise<LoopbackListener>
  /** See AppOriginDeps.clearFirst; asked once the port is known. */
  readonly clearFirst: (port: number) => boolean
  /** See AppOriginDeps.hostSeed; asked once the port is known. */
  readonly hostSeed: (port: number) => string
  /** See AppOriginDeps.ownUserOnly. */
  readonly ownUserOnly: boolean
  readonly onChange: (tunnel: Tunnel) => void
  /** Called when the session is over; the listener is closed already. */
  readonly onEnded: () => void
  readonly log: Log
  readonly limits?: Partial<PathLimits> | undefined
}

export interface LocalTunnel {
  readonly id: TunnelId
  /** See `TunnelledSession`. */
  readonly isOthers: boolean
  snapshot(): Tunnel
  /** Returns a one-time URL. @throws AppError `bad_request` for an app that is not HTTP */
  issueUrl(path?: string): string
  /** Call when the network or the credentials have changed: retries at once. */
  wake(): void
  /** Call when the session is over. */
  end(): void
  close(): Promise<void>
}

const COUNTER_NOTICE_MS = 500

/**
 * Listens for one app of one session, with any number of connections.
 *
 * Threat model of the raw (TCP) kind: any program that reaches the port on this computer reaches the app, which must ask for a
 * key itself (sshd does). On failure a client never sees text of ours, only a reset. The HTTP kind is guarded in
 * `http-origins/`.
 */
export async function openLocalTunnel(deps: LocalTunnelDeps): Promise<LocalTunnel> {
  const id = randomUUID() as string as TunnelId
  const openedAt = new Date().toISOString()
  const clients = new Set<Socket>()
  const ready = Promise.withResolvers<(socket: Socket) => void>()
  ready.promise.catch(() => undefined)
  // Placeholder until the manager has described the app.
  let app: App = { name: deps.appName, title: deps.appName, protocol: 'tcp', path: '/' }
  let isReady = false
  let inject: Grant['inject'] = null
  /** Bytes of connections that have ended. */
  const ended = { up: 0, down: 0 }
  let origin: AppOrigin | undefined
  let notice: NodeJS.Timeout | undefined
  let closing: Promise<void> | undefined
  const kept = createKeptWires()

  const path = createPath({
    api: deps.api,
    sessionId: deps.session.id,
    app: deps.appName,
    dial: (grant, signal) => {
      inject = injectionOf(grant)
      return deps.transport.dial(grant, signal)
    },
    onChange: state => {
      deps.onChange(snapshot())
      if (state !== 'ended') return
      const complain = (error: unknown) => {
        deps.log.warn({ tunnel: id, error: String(error) }, 'an ended tunnel did not close cleanly')
      }
      void close().catch(complain).then(deps.onEnded)
    },
    ...(deps.limits ? { limits: deps.limits } : {}),
  })

  const listener = await deps.listen(takeIn).catch((error: unknown) => {
    path[Symbol.dispose]()
    throw error
  })
  try {
    const grant = await path.grant()
    app = appOf(grant, deps.appName)
    inject = injectionOf(grant)
    isReady = true
    ready.resolve(isWebApp(app) ? acceptHttp(app) : acceptTcp)
  } catch (error) {
    ready.reject(error)
    await close()
    throw error
  }

  function takeIn(socket: Socket) {
    clients.add(socket)
    socket.on('error', error => deps.log.debug({ tunnel: id, error: error.message }, 'a local connection broke'))
    socket.once('close', () => {
      clients.delete(socket)
      ended.up += socket.bytesRead
      ended.down += socket.bytesWritten
      announce()
    })
    announce()
    ready.promise.then(
      accept => accept(socket),
      () => socket.resetAndDestroy(),
    )
  }

  function acceptHttp(served: App): (socket: Socket) => void {
    const made = createAppOrigin({
      app: served,
      sessionName: deps.session.name,
      port: listener.port,
      connect: signal =>
        openAppStream({ path, transport: deps.transport, speaksTls: () => served.protocol === 'https' }, signal),
      inject: () => inject,
      clearFirst: deps.clearFirst(listener.port),
      hostSeed: deps.hostSeed(listener.port),
      ownUserOnly: deps.ownUserOnly,
      log: deps.log,
    })
    origin = made
    return socket => made.accept(socket)
  }

  function acceptTcp(client: Socket) {
    void carry({ client, path, kept, transport: deps.transport }).catch((error: unknown) => {
      client.resetAndDestroy()
      deps.log.debug({ tunnel: id, error: String(error) }, 'a connection failed')
    })
  }

  function snapshot(): Tunnel {
    return {
      id,
      sessionId: deps.session.id,
      sessionName: deps.session.name,
      app,
      host: '127.0.0.1',
      port: listener.port,
      state: path.state,
      connections: clients.size,
      bytesUp: ended.up + sum(clients, client => client.bytesRead),
      bytesDown: ended.down + sum(clients, client => client.bytesWritten),
      lastError: path.lastError,
      openedAt,
    }
  }

  /** Reports counters, which change all the time, to the console at most twice a second. */
  function announce() {
    if (notice || closing || !isReady) return
    notice = setTimeout(() => {
      notice = undefined
      if (!closing) deps.onChange(snapshot())
    }, COUNTER_NOTICE_MS)
    notice.unref()
  }

  function close(): Promise<void> {
    closing ??= (async () => {
      clearTimeout(notice)
      path[Symbol.dispose]()
      origin?.close()
      kept[Symbol.dispose]()
      const stopped = listener.close()
      for (const client of clients) client.resetAndDestroy()
      await stopped
    })()
    return closing
  }

  return {
    id,
    isOthers: deps.session.isOthers,
    snapshot,
    issueUrl(path) {
      if (!origin) throw new AppError('bad_request', because('no_web_app', { app: deps.appName }))
      return origin.issueUrl(path)
    },
    wake: () => {
      // The computer may be in another network now.
      kept.clear()
      path.wake()
    },
    end: () => path.end(),
    close,
  }
}

interface Carried {
  readonly client: Socket
  readonly path: Path<Line>
  readonly kept: KeptWires
  readonly transport: Transport
}

/** Carries the bytes of a raw connection until it ends. @throws AppError; the signal's reason when the client goes away */
async function carry(carried: Carried): Promise<void> {
  const { client, path, kept } = carried
  const { reason } = (await kept.carry(client)) ?? (await carryAnew(carried))
  const refusal = refusalOf(reason)
  if (refusal) path.judge(refusal)
}

/** @throws AppError; the signal's reason when the client goes away while the line is dialled */
async function carryAnew({ client, path, kept, transport }: Carried): Promise<Pick<TunnelOutcome, 'reason'>> {
  const gone = new AbortController()
  const abort = () => gone.abort(new Error('the client went away'))
  if (client.destroyed) abort()
  client.once('close', abort)
  const line = await path.connect(gone.signal)
  if (client.destroyed) {
    line.destroy()
    throw gone.signal.reason
  }
  return await transport.pipe(client, line, kept)
}

function sum(clients: Iterable<Socket>, of: (client: Socket) => number): number {
  let total = 0
  for (const client of clients) total += of(client)
  return total
}
