import { randomUUID } from 'node:crypto'
import {
  type ApiClient,
  AppError,
  because,
  forwardedPort,
  isFinished,
  isWebApp,
  type SessionId,
} from '#manager/contract'
import { type HostEvents, type Tunnel, TunnelSpec } from '#proxy/contract'
import { type PathLimits } from '../grants/path.ts'
import { openListener } from '../listeners/open-listener.ts'
import { type PortMemory } from '../listeners/port-memory.ts'
import { type Log } from '../log.ts'
import { type SessionWatchDeps } from '../sessions-watch.ts'
import { type LocalTunnel, openLocalTunnel, type TunnelledSession } from './local-tunnel.ts'
import { choosePort } from './port-choice.ts'
import { createTrafficMeter } from './traffic.ts'
import { type Transport } from './transport.ts'

type CloseReason = HostEvents['tunnel:closed']['reason']

export interface TunnelsDeps {
  readonly api: ApiClient
  /** Name of the server (`user-directory.ts`). */
  readonly server: string
  readonly transport: Transport
  readonly ports: PortMemory
  readonly limits?: Partial<PathLimits> | undefined
  /** See AppOriginDeps.ownUserOnly. */
  readonly ownUserOnly: boolean
  /** Whether other people use this computer and can take ports that tunnels leave. Called for each tunnel. */
  readonly isShared: () => Promise<boolean>
  /** Largest number of tunnels, including those being opened. */
  readonly most: number
  /** Follows the sessions of open tunnels; used while there are any. */
  readonly watch: (events: Pick<SessionWatchDeps, 'watched' | 'onEnded' | 'onPathChanged'>) => Disposable
  readonly onChanged: (tunnel: Tunnel) => void
  readonly onTraffic: (list: HostEvents['tunnel:traffic']) => void
  readonly onClosed: (tunnel: Tunnel, reason: CloseReason) => Promise<void>
  readonly log: Log
}

/** The tunnels of a user: at most one for each app of a session. Disposing closes all of them, including those being opened. */
export interface Tunnels extends AsyncDisposable {
  /**
   * @param wanted port to try first where the spec names none
   * @throws AppError `session_not_running`, `app_open_elsewhere`, `rate_limited`, and as `openListener`
   */
  open(spec: TunnelSpec, wanted?: number): Promise<LocalTunnel>
  list(): Tunnel[]
  isOpen(tunnel: LocalTunnel): boolean
  /** Does nothing for an unknown id. */
  close(id: string): Promise<void>
  /** The tunnel that listens at a port, for a message about a taken one. */
  ownOn(port: number): { readonly sessionName: string; readonly app: string } | undefined
  /** All waiting connections retry at once. */
  wake(): void
}

export function createTunnels(deps: TunnelsDeps): Tunnels {
  const { api, transport, ports, log } = deps
  /** Includes tunnels that are being opened. */
  const tunnels = new Map<string, Promise<LocalTunnel>>()
  const opened = new Map<string, LocalTunnel>()
  const traffic = createTrafficMeter({ tunnels: list, onTraffic: deps.onTraffic })
  let watch: Disposable | undefined

  function list(): Tunnel[] {
    return [...opened.values()].map(tunnel => tunnel.snapshot())
  }

  async function open(input: TunnelSpec, wanted?: number): Promise<LocalTunnel> {
    const spec = TunnelSpec.parse(input)
    const key = `${spec.sessionId}/${spec.app}`
    const running = tunnels.get(key)
    if (running) {
      const tunnel = await running
      if (isWhereAsked(tunnel, spec)) return tunnel
      await makeWay(key, tunnel)
      return await open(spec, wanted)
    }
    if (tunnels.size >= deps.most) {
      throw new AppError('rate_limited', { ...because('tunnels_at_most', { limit: deps.most }), whySaysNext: true })
    }
    const opening = start(key, spec, wanted)
    tunnels.set(key, opening)
    opening.catch(() => tunnels.delete(key))
    return await opening
  }

  /** Closes a tunnel that was requested at another port. @throws AppError `app_open_elsewhere` if it has connections at this one */
  async function makeWay(key: string, tunnel: LocalTunnel) {
    const { port, connections } = tunnel.snapshot()
    if (connections > 0) {
      const why = because('app_open_elsewhere', { port, connections })
      throw new AppError('app_open_elsewhere', { port, connections, ...why })
    }
    await finish(key, 'user')
  }

  async function start(key: string, spec: ReturnType<typeof TunnelSpec.parse>, wanted: number | undefined) {
    const { session, isWeb } = await runningSession(api, spec.sessionId, spec.app)
    const memory = await ports.recall(session.rememberedAs, spec.app)
    const { isLasting, ...choice } = choosePort({
      port: spec.port ?? wanted,
      onPortTaken: spec.onPortTaken,
      remembered: memory?.port,
      used: await ports.all(),
      isExposed: isWeb && (await deps.isShared()),
    })
    const life = { isOver: false }
    const tunnel = await openLocalTunnel({
      api,
      transport,
      session,
      appName: spec.app,
      log,
      limits: deps.limits,
      ownUserOnly: deps.ownUserOnly,
      listen: onConnection =>
        openListener({
          ...choice,
          onPortTaken: spec.onPortTaken,
          onConnection,
          ownTunnelOn: ownOn,
        }),
      // A hostile server may name a session as another server does: it must not get the cookies of that one's apps.
      hostSeed: port => (isLasting(port) ? `${deps.server} ${session.id}` : randomUUID()),
      clearFirst: port => memory?.sessionId !== session.id || memory.port !== port,
      onChange: changed => {
        if (changed.connections > 0) traffic.follow()
        deps.onChanged(changed)
      },
      onEnded: () => {
        life.isOver = true
        finish(key, 'session_ended').catch((error: unknown) => {
          log.warn({ error: String(error) }, 'a tunnel of an ended session did not close cleanly')
        })
      },
    })
    const { port } = tunnel.snapshot()
    await ports.remember(session.rememberedAs, spec.app, { port, sessionId: session.id }).catch((error: unknown) => {
      log.warn({ error: String(error) }, 'the port could not be remembered')
    })
    if (life.isOver) {
      // The tunnel was never handed out, so it must not be reused by the next caller.
      throw new AppError('session_not_running', because('ended_while_opening'))
    }
    opened.set(key, tunnel)
    watch ??= deps.watch({ watched, onEnded, onPathChanged: wake })
    log.info({ session: session.id, app: spec.app, port }, 'tunnel opened')
    deps.onChanged(tunnel.snapshot())
    return tunnel
  }

  function ownOn(port: number) {
    const holder = list().find(tunnel => tunnel.port === port)
    return holder && { sessionName: holder.sessionName, app: holder.app.name }
  }

  const watched = () => [...new Set(list().map(tunnel => tunnel.sessionId))]
  const onEnded = (sessionId: SessionId) => {
    for (const tunnel of opened.values()) if (tunnel.snapshot().sessionId === sessionId) tunnel.end()
  }
  const wake = () => {
    for (const tunnel of opened.values()) tunnel.wake()
  }

  async function finish(key: string, reason: CloseReason) {
    const tunnel = opened.get(key)
    if (!tunnel) return
    opened.delete(key)
    tunnels.delete(key)
    await tunnel.close()
    if (opened.size === 0) {
      watch?.[Symbol.dispose]()
      watch = undefined
    }
    const closed = tunnel.snapshot()
    log.info({ session: closed.sessionId, app: closed.app.name, reason }, 'tunnel closed')
    await deps.onClosed(closed, reason)
  }

  const finishAll = () => Promise.all([...opened.keys()].map(key => finish(key, 'user')))

  return {
    open,
    list,
    isOpen: tunnel => [...opened.values()].includes(tunnel),
    async close(id) {
      const key = [...opened].find(([, tunnel]) => tunnel.id === id)?.[0]
      if (key !== undefined) await finish(key, 'user')
    },
    ownOn,
    wake,
    async [Symbol.asyncDispose]() {
      await finishAll()
      await Promise.allSettled(tunnels.values())
      await finishAll()
      traffic[Symbol.dispose]()
    },
  }
}

/**
 * Id and name of a session, for its tunnels: not the descriptions of its apps, because there may be hundreds of tunnels. The id is the
 * requested one, not that of the answer: it goes into files of ssh.
 */
async function runningSession(
  api: Pick<ApiClient, 'getSession'>,
  id: SessionId,
  appName: string,
): Promise<{ readonly session: TunnelledSession; readonly isWeb: boolean }> {
  const session = await api.getSession({ params: { id } })
  if (session.status !== 'RUNNING') {
    const { status } = session
    const why = isFinished(status) ? because('session_ended') : because('session_not_yet_running', { status })
    throw new AppError('session_not_running', { status, ...why })
  }
  const app = session.apps.find(({ name }) => name === appName) ?? forwardedPort(appName)
  const { name, ownerId, sharedAs } = session
  const known = { id, name, isOthers: sharedAs !== null, rememberedAs: rememberedAs(name, sharedAs && ownerId) }
  return { session: known, isWeb: app === undefined || isWebApp(app) }
}

/**
 * The name under which the ports of a session are remembered.
 *
 * Threat model: whoever shares a session chooses its name, perhaps that of an own session of the user. A client with a saved port sends its
 * password there, so a session of others never gets the port of an own one.
 *
 * @param ownerId owner of a session that somebody else shares; null for an own one
 */
const rememberedAs = (name: string, ownerId: string | null) => (ownerId === null ? name : `${ownerId}/${name}`)

const isWhereAsked = (tunnel: LocalTunnel, { port, onPortTaken }: TunnelSpec) =>
  port === undefined || onPortTaken === 'random' || tunnel.snapshot().port === port
