import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  AppError,
  because,
  createClient,
  GRANT_HEADER,
  isFinished,
  type SessionId,
  type SignableRequest,
} from '#manager/contract'
import { type HostApi, type HostEvents, type HostSettings } from '#proxy/contract'
import { TunnelSpec } from '#proxy/contract'
import { type DirectPath } from './dial/direct-path.ts'
import { linkSignals } from './grants/link-signals.ts'
import { type PathLimits } from './grants/path.ts'
import { environmentNetwork, type Network } from './network/index.ts'
import { openListener } from './listeners/open-listener.ts'
import { createPortMemory } from './listeners/port-memory.ts'
import { type Log, silentLog } from './log.ts'
import { createSettingsFile } from './settings.ts'
import { watchSessions } from './sessions-watch.ts'
import { createKitFiles, defaultSshDirectory, thisProcess } from './ssh/kit-files.ts'
import { createSshKits, siteFileOf } from './ssh/kit.ts'
import { type LocalTunnel, openLocalTunnel } from './local/local-tunnel.ts'
import { createTrafficMeter } from './local/traffic.ts'
import { createTransport, type Transport } from './local/transport.ts'
import { createFolderPorts } from './sftp/folder-port.ts'

export interface ProxyOptions {
  readonly managerUrl: string
  /**
   * Headers for the manager: a bearer token, both halves of a browser's sign-in, or a signature of this request. Called for
   * each request.
   */
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  /** Ports and settings of this user are remembered in `<dataDir>/proxy/<userId>`. */
  readonly dataDir: string
  readonly userId: string
  /** Default: `.ssh` in the home directory of this process' user. */
  readonly sshDirectory?: string
  /** False: whatever the settings of the user say, no Include line is written. */
  readonly mayInclude?: boolean
  /** Where the agent of this computer offers it, the bytes of apps go to their containers directly (ADR 41). */
  readonly direct?: DirectPath | undefined
  /** Default: as the environment says (HTTPS_PROXY). */
  readonly network?: Network | undefined
  readonly log?: Log
  readonly limits?: Partial<PathLimits>
  /** Replaces the production transport in tests. */
  readonly transport?: Transport
}

type ProxyEvent = 'tunnel:changed' | 'tunnel:traffic' | 'tunnel:closed' | 'sftp:changed'

/** The tunnel, SSH and SFTP side of HostApi for one user. */
export interface Proxy extends AsyncDisposable {
  readonly tunnel: HostApi['tunnel']
  readonly ssh: Pick<HostApi['ssh'], 'connect' | 'keyFile'>
  readonly sftp: HostApi['sftp']
  settings(): Promise<HostSettings>
  saveSettings(settings: HostSettings): Promise<HostSettings>
  /** @returns the function that unsubscribes */
  on<E extends ProxyEvent>(event: E, listener: (payload: HostEvents[E]) => void): () => void
  /** The user signed in again or the network is back: all waiting connections retry at once. */
  wake(): void
}

const SSH_APP = 'sshd'

/**
 * Removes what a process that was killed has left of its SSH tunnels in the home directory: private keys and configuration.
 *
 * @param sshDirectory default: `.ssh` in the home directory of this process' user
 */
export async function tidySshFiles(sshDirectory: string = defaultSshDirectory()): Promise<void> {
  await createKitFiles(sshDirectory, await thisProcess()).removeStale()
}

/**
 * Starts the local proxy of one user: listeners on loopback, forwarded through the manager to apps of sessions.
 *
 * Threat model: the proxy holds the user's credentials only as a function it calls, grants in memory, and SSH keys of open
 * sessions in `~/.ssh/berth` (see `ssh/kit-files.ts`). It listens on loopback only (see `listeners/`); there is no control
 * port: the host that embeds it (desktop, console, CLI) calls these methods. Everything it opened is closed with it.
 */
export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const log = options.log ?? silentLog
  const managerUrl = options.managerUrl.replace(/\/+$/, '')
  const directory = join(options.dataDir, 'proxy', options.userId)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const closing = new AbortController()
  const network = options.network ?? (await environmentNetwork())
  const fetchFrom = network?.fetch ?? fetch
  const api = createClient({
    baseUrl: managerUrl,
    fetch: async (url, init) => {
      // A renewal is authorised by the grant alone, and works while the user is signed out.
      const { method, body } = init
      const credentials = GRANT_HEADER in init.headers ? {} : await options.credentials({ method, url, body })
      const ended = init.signal instanceof AbortSignal ? [closing.signal, init.signal] : [closing.signal]
      using both = linkSignals(ended)
      const headers = { ...init.headers, ...credentials }
      const reply = await fetchFrom(url, { ...init, headers, signal: both.signal })
      // All of it, while the signals still count.
      const text = await reply.text()
      return { status: reply.status, headers: reply.headers, text: () => Promise.resolve(text) }
    },
  })
  const transport = options.transport ?? createTransport(managerUrl, options.direct, network)
  const ports = createPortMemory(directory)
  const settings = createSettingsFile(directory)
  const files = createKitFiles(options.sshDirectory ?? defaultSshDirectory(), await thisProcess())
  const kits = createSshKits({ api, files })
  const listeners = new Set<{ event: ProxyEvent; call: (payload: never) => void }>()
  const tunnels = new Map<string, Promise<LocalTunnel>>()
  const opened = new Map<string, LocalTunnel>()
  const kitSessions = new Set<SessionId>()
  const traffic = createTrafficMeter({
    tunnels: () => [...opened.values()].map(tunnel => tunnel.snapshot()),
    onTraffic: list => emit('tunnel:traffic', list),
  })
  let watch: Disposable | undefined
  await files.removeStale().catch((error: unknown) => {
    log.warn({ error: String(error) }, 'the SSH files of ended tunnels could not be tidied')
  })

  function emit<E extends ProxyEvent>(event: E, payload: HostEvents[E]) {
    for (const listener of listeners) if (listener.event === event) listener.call(payload as never)
  }

  const keyOf = (sessionId: SessionId, app: string) => `${sessionId}/${app}`

  async function open(input: TunnelSpec, wanted?: number): Promise<LocalTunnel> {
    const spec = TunnelSpec.parse(input)
    const key = keyOf(spec.sessionId, spec.app)
    const running = tunnels.get(key)
    if (running) {
      const tunnel = await running
      if (isWhereAsked(tunnel, spec)) return tunnel
      await makeWay(key, tunnel)
      return await open(spec, wanted)
    }
    const opening = start(key, spec, wanted)
    tunnels.set(key, opening)
    opening.catch(() => tunnels.delete(key))
    return await opening
  }

  const isWhereAsked = (tunnel: LocalTunnel, { port, onPortTaken }: TunnelSpec) =>
    port === undefined || onPortTaken === 'random' || tunnel.snapshot().port === port

  /** Closes a tunnel that was requested at another port. @throws AppError `app_open_elsewhere` if it has connections at this one */
  async function makeWay(key: string, tunnel: LocalTunnel) {
    const { port, connections } = tunnel.snapshot()
    if (connections > 0) {
      const why = because('app_open_elsewhere', { port, connections })
      throw new AppError('app_open_elsewhere', { port, connections, ...why })
    }
    await finish(key, 'user')
  }

  /** Id and name of a session, for its tunnels: not the descriptions of its apps, because there may be hundreds of tunnels. */
  async function runningSession(id: SessionId): Promise<{ readonly id: SessionId; readonly name: string }> {
    const session = await api.getSession({ params: { id } })
    if (session.status !== 'RUNNING') {
      const { status } = session
      const why = isFinished(status) ? because('session_ended') : because('session_not_yet_running', { status })
      throw new AppError('session_not_running', { status, ...why })
    }
    return { id: session.id, name: session.name }
  }

  async function start(key: string, spec: ReturnType<typeof TunnelSpec.parse>, wanted: number | undefined) {
    const session = await runningSession(spec.sessionId)
    const memory = await ports.recall(session.name, spec.app)
    const life = { isOver: false }
    const tunnel = await openLocalTunnel({
      api,
      transport,
      session,
      appName: spec.app,
      log,
      limits: options.limits,
      listen: onConnection =>
        openListener({
          wanted: spec.port ?? wanted,
          remembered: memory?.port,
          onPortTaken: spec.onPortTaken,
          onConnection,
          ownTunnelOn,
        }),
      clearFirst: port => memory?.sessionId !== session.id || memory.port !== port,
      onChange: changed => {
        if (changed.connections > 0) traffic.follow()
        emit('tunnel:changed', changed)
      },
      onEnded: () => {
        life.isOver = true
        void finish(key, 'session_ended')
      },
    })
    const { port } = tunnel.snapshot()
    await ports.remember(session.name, spec.app, { port, sessionId: session.id }).catch((error: unknown) => {
      log.warn({ error: String(error) }, 'the port could not be remembered')
    })
    if (life.isOver) {
      // The tunnel was never handed out, so it must not be reused by the next caller.
      throw new AppError('session_not_running', because('ended_while_opening'))
    }
    opened.set(key, tunnel)
    watch ??= watchSessions({
      managerUrl,
      credentials: options.credentials,
      fetch: fetchFrom,
      api,
      watched,
      onEnded,
      onPathChanged,
      log,
    })
    log.info({ session: session.id, app: spec.app, port }, 'tunnel opened')
    emit('tunnel:changed', tunnel.snapshot())
    return tunnel
  }

  function ownTunnelOn(port: number) {
    const holder = [...opened.values()].map(tunnel => tunnel.snapshot()).find(tunnel => tunnel.port === port)
    return holder && { sessionName: holder.sessionName, app: holder.app.name }
  }

  const watched = () => [...new Set([...opened.values()].map(tunnel => tunnel.snapshot().sessionId))]
  const onEnded = (sessionId: SessionId) => {
    for (const tunnel of opened.values()) if (tunnel.snapshot().sessionId === sessionId) tunnel.end()
  }
  const onPathChanged = () => {
    for (const tunnel of opened.values()) tunnel.wake()
  }

  async function finish(key: string, reason: HostEvents['tunnel:closed']['reason']) {
    const tunnel = opened.get(key)
    if (!tunnel) return
    opened.delete(key)
    tunnels.delete(key)
    await tunnel.close()
    const { id, sessionId, app } = tunnel.snapshot()
    if (app.name === SSH_APP && kitSessions.delete(sessionId)) {
      await kits.forget(sessionId).catch((error: unknown) => {
        log.warn({ error: String(error) }, 'the SSH files of a tunnel could not be removed')
      })
    }
    if (opened.size === 0) {
      watch?.[Symbol.dispose]()
      watch = undefined
    }
    log.info({ session: sessionId, app: app.name, reason }, 'tunnel closed')
    emit('tunnel:closed', { id, reason })
  }

  const finishAll = () => Promise.all([...opened.keys()].map(key => finish(key, 'user')))

  async function connect(spec: TunnelSpec) {
    const chosen = await settings.read()
    const tunnel = await open({ ...spec, app: SSH_APP }, chosen.preferredSshPort ?? undefined)
    const { sessionId } = tunnel.snapshot()
    kitSessions.add(sessionId)
    return await kits.make(tunnel.snapshot(), chosen, () => opened.get(keyOf(sessionId, SSH_APP)) === tunnel)
  }

  const folders = createFolderPorts({
    managerUrl,
    network,
    credentials: options.credentials,
    api,
    directory,
    files,
    ports,
    mayInclude: async () => options.mayInclude !== false && (await settings.read()).manageSshConfig,
    ownTunnelOn,
    onChange: port => emit('sftp:changed', port),
    log,
  })

  return {
    sftp: folders,
    tunnel: {
      open: async spec => (await open(spec)).snapshot(),
      async openApp(spec) {
        const tunnel = await open(spec)
        return { url: tunnel.issueUrl(spec.path), tunnel: tunnel.snapshot() }
      },
      list: () => Promise.resolve([...opened.values()].map(tunnel => tunnel.snapshot())),
      async close(id) {
        const key = [...opened].find(([, tunnel]) => tunnel.id === id)?.[0]
        if (key !== undefined) await finish(key, 'user')
      },
      wake: () => {
        onPathChanged()
        return Promise.resolve()
      },
    },
    ssh: {
      connect,
      keyFile: async (sessionId, format) =>
        format === 'filezilla'
          ? siteFileOf(await connect({ sessionId, app: SSH_APP, onPortTaken: 'random' }))
          : await kits.keyFile(sessionId, format),
    },
    settings: () => settings.read(),
    saveSettings: wanted => settings.save(wanted),
    on(event, listener) {
      const entry = { event, call: listener as (payload: never) => void }
      listeners.add(entry)
      return () => void listeners.delete(entry)
    },
    wake: onPathChanged,
    async [Symbol.asyncDispose]() {
      // Starting an app takes up to a minute, and a user who quits will not wait that long.
      closing.abort(new AppError('tunnel_not_found', because('program_closing')))
      await folders[Symbol.asyncDispose]()
      await finishAll()
      await Promise.allSettled(tunnels.values())
      await finishAll()
      traffic[Symbol.dispose]()
      listeners.clear()
    },
  }
}

export type { Log } from './log.ts'
export { serveFolders, writeFolderFiles } from './sftp/serve-folders.ts'
export { filezillaSite } from './ssh/filezilla.ts'
export { quoteForShell, quoteForSshConfig } from './ssh/quoting.ts'
export { inheritedBy } from './ssh/inherited.ts'
export { NOT_INHERITED } from './ssh/ssh-config.ts'
