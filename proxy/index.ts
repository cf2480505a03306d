import {
  type ApiClient,
  AppError,
  because,
  createClient,
  GRANT_HEADER,
  type SessionId,
  type SignableRequest,
} from '#manager/contract'
import { type HostApi, type HostEvents, type HostSettings, type TunnelSpec } from '#proxy/contract'
import { type DirectPath } from './dial/direct-path.ts'
import { linkSignals } from './grants/link-signals.ts'
import { type PathLimits } from './grants/path.ts'
import { directFetch, environmentNetwork, type Network, replyOf } from './network/index.ts'
import { isSharedComputer } from './network/other-people.ts'
import { createPortMemory } from './listeners/port-memory.ts'
import { type Log, silentLog } from './log.ts'
import { createSettingsFile } from './settings.ts'
import { watchSessions } from './sessions-watch.ts'
import { labelOfServer } from './ssh/aliases.ts'
import { createKitFiles, defaultSshDirectory, thisProcess } from './ssh/kit-files.ts'
import { createSshKits, siteFileOf } from './ssh/kit.ts'
import { createTransport, type Transport } from './local/transport.ts'
import { createTunnels } from './local/tunnels.ts'
import { createFolderPorts } from './sftp/folder-port.ts'
import { openUserDirectory, serverNameOf } from './user-directory.ts'

export interface ProxyOptions {
  readonly managerUrl: string
  /**
   * Headers for the manager: a bearer token, both halves of a browser's sign-in, or a signature of this request. Called for
   * each request.
   */
  readonly credentials: (request: SignableRequest) => Promise<Record<string, string>>
  /** Ports and settings of this user are remembered below `<dataDir>/proxy` (`user-directory.ts`). */
  readonly dataDir: string
  /** Name of the server, the same for every start; default: its address. */
  readonly server?: string
  /** Address by which people know the server; default: `managerUrl`. Called when it is needed. */
  readonly knownAs?: () => string
  readonly userId: string
  /** Default: `.ssh` in the home directory of this process' user. */
  readonly sshDirectory?: string
  /** False: no Include line is written, whatever the user's settings say. */
  readonly mayInclude?: boolean
  /** True: this process and the browsers that may open apps run as the same user of the computer. */
  readonly ownUserOnly?: boolean
  /**
   * Limit of the user's tunnels; default: none. A process that serves many users needs a limit, because each tunnel takes two descriptors
   * and a port.
   */
  readonly mostTunnels?: number
  /** Whether other people use this computer; default: looked up in its homes and accounts (ADR 76). */
  readonly sharedComputer?: boolean
  /** Set: where the agent of this computer offers it, the bytes of apps go to their containers directly (ADR 41). */
  readonly direct?: DirectPath | undefined
  /** Default: the network that the environment names (HTTPS_PROXY). */
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
  /** Call when the user signed in again or the network is back: all waiting connections retry at once. */
  wake(): void
}

const SSH_APP = 'sshd'

/**
 * Removes private keys and configuration of SSH tunnels that killed processes have left in the home directory.
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
  const server = options.server ?? serverNameOf(managerUrl)
  const directory = await openUserDirectory(options.dataDir, { userId: options.userId, server })
  const closing = new AbortController()
  const network = options.network ?? (await environmentNetwork())
  const fetchFrom = network?.fetch ?? directFetch
  const api = createApi({ managerUrl, credentials: options.credentials, fetchFrom, closing: closing.signal })
  const transport = options.transport ?? createTransport(managerUrl, options.direct, network)
  const ports = createPortMemory(directory)
  const settings = createSettingsFile(directory)
  const files = createKitFiles(options.sshDirectory ?? defaultSshDirectory(), await thisProcess())
  const label = () => labelOfServer(options.knownAs?.() ?? managerUrl)
  const kits = createSshKits({ api, files, server: label })
  const listeners = new Set<{ event: ProxyEvent; call: (payload: never) => void }>()
  await files.removeStale().catch((error: unknown) => {
    log.warn({ error: String(error) }, 'the SSH files of ended tunnels could not be tidied')
  })

  function emit<E extends ProxyEvent>(event: E, payload: HostEvents[E]) {
    for (const listener of listeners) if (listener.event === event) listener.call(payload as never)
  }

  const sshSessions = new Set<SessionId>()
  const tunnels = createTunnels({
    api,
    server,
    transport,
    ports,
    limits: options.limits,
    ownUserOnly: options.ownUserOnly ?? false,
    most: options.mostTunnels ?? Infinity,
    isShared: () =>
      options.sharedComputer === undefined ? isSharedComputer() : Promise.resolve(options.sharedComputer),
    watch: events =>
      watchSessions({ managerUrl, credentials: options.credentials, fetch: fetchFrom, api, ...events, log }),
    onChanged: tunnel => emit('tunnel:changed', tunnel),
    onTraffic: list => emit('tunnel:traffic', list),
    async onClosed({ id, sessionId, app }, reason) {
      if (app.name === SSH_APP && sshSessions.delete(sessionId)) {
        await kits.forget(sessionId).catch((error: unknown) => {
          log.warn({ error: String(error) }, 'the SSH files of a tunnel could not be removed')
        })
      }
      emit('tunnel:closed', { id, reason })
    },
    log,
  })

  async function connect(spec: TunnelSpec) {
    const read = await settings.read()
    const chosen = { ...read, manageSshConfig: options.mayInclude !== false && read.manageSshConfig }
    const tunnel = await tunnels.open({ ...spec, app: SSH_APP }, chosen.preferredSshPort ?? undefined)
    sshSessions.add(tunnel.snapshot().sessionId)
    const { isOthers } = tunnel
    return await kits.make(tunnel.snapshot(), chosen, { isOthers, isOpen: () => tunnels.isOpen(tunnel) })
  }

  const folders = createFolderPorts({
    managerUrl,
    network,
    credentials: options.credentials,
    api,
    directory,
    files,
    ports,
    server: label,
    mayInclude: async () => options.mayInclude !== false && (await settings.read()).manageSshConfig,
    ownTunnelOn: port => tunnels.ownOn(port),
    onChange: port => emit('sftp:changed', port),
    log,
  })

  return {
    sftp: folders,
    tunnel: {
      open: async spec => (await tunnels.open(spec)).snapshot(),
      async openApp(spec) {
        const tunnel = await tunnels.open(spec)
        return { url: tunnel.issueUrl(spec.path), tunnel: tunnel.snapshot() }
      },
      list: () => Promise.resolve(tunnels.list()),
      close: id => tunnels.close(id),
      wake() {
        tunnels.wake()
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
    wake: () => tunnels.wake(),
    async [Symbol.asyncDispose]() {
      // Starting an app takes up to a minute, and a user who quits will not wait that long.
      closing.abort(new AppError('tunnel_not_found', because('program_closing')))
      await folders[Symbol.asyncDispose]()
      await tunnels[Symbol.asyncDispose]()
      listeners.clear()
    },
  }
}

interface ApiDeps extends Pick<ProxyOptions, 'credentials'> {
  readonly managerUrl: string
  readonly fetchFrom: Network['fetch']
  /** Aborts all calls. */
  readonly closing: AbortSignal
}

function createApi({ managerUrl, credentials, fetchFrom, closing }: ApiDeps): ApiClient {
  return createClient({
    baseUrl: managerUrl,
    fetch: async (url, init) => {
      // A renewal is authorised by the grant alone, and works while the user is signed out.
      const { method, body } = init
      const own = GRANT_HEADER in init.headers ? {} : await credentials({ method, url, body })
      const ended = init.signal instanceof AbortSignal ? [closing, init.signal] : [closing]
      using both = linkSignals(ended)
      const headers = { ...init.headers, ...own }
      const reply = replyOf(await fetchFrom(url, { ...init, headers, signal: both.signal }))
      // Read the whole answer while the signals still apply.
      const text = await reply.text()
      return { status: reply.status, headers: reply.headers, text: () => Promise.resolve(text) }
    },
  })
}

export type { Log } from './log.ts'
export { serveFolders, writeFolderFiles } from './sftp/serve-folders.ts'
export { filezillaSite } from './ssh/filezilla.ts'
export { quoteForShell, quoteForSshConfig } from './ssh/quoting.ts'
export { inheritedBy } from './ssh/inherited.ts'
export { defaultSshDirectory } from './ssh/kit-files.ts'
export { aliasesAt, aliasFor, endOfAlias, FOLDERS_ALIAS, labelOfServer, type ServerOfAliases } from './ssh/aliases.ts'
export { defaultServerIfKnown, makeDefaultServer } from './ssh/default-server.ts'
export { NOT_INHERITED } from './ssh/ssh-config.ts'
