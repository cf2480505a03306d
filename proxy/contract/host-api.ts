// `import type` instead of inline types: those leave an import behind, and the sandboxed preload, which needs this file, cannot load any.
import type { SessionId, WireError } from '#manager/contract'
import type { DesktopNotice, DesktopOptions, DesktopReport, DesktopWarning, DraggedOut, StackStart } from './desktop.ts'
import type { AppsState } from './apps-state.ts'
import type { ProxyFault } from './proxy-faults.ts'
import type { FolderKit, FolderPort, FolderPortSpec } from './sftp.ts'
import type {
  AppUrl,
  KeyFile,
  KeyFormat,
  Program,
  SshKit,
  Tunnel,
  TunnelId,
  TunnelSpec,
  TunnelTraffic,
} from './tunnels.ts'

export interface HostInfo {
  /** `electron` = desktop app, `local` = browser on the computer that runs the proxy, `remote` = browser elsewhere. */
  readonly kind: 'electron' | 'local' | 'remote'
  /** With `local`: the browser belongs to another user of the computer than the proxy, which writes no files for it. */
  readonly isOtherAccount?: boolean
  /** With `remote`: the browser may run on the proxy's computer but has not proven it; `berth local` proves it, or a link of `berth up`. */
  readonly isUnproven?: boolean
  /** With `remote`: web apps open at the address of apps, `console.appsAddress`. */
  readonly opensApps?: boolean
  readonly version: string
  readonly platform: string
  /** Faults of the reverse proxy in front of the console; only for superadmins in a browser. */
  readonly proxyFaults?: readonly ProxyFault[]
  /** State of the address of apps; sent only to superadmins in a browser. */
  readonly apps?: AppsState
}

/** Settings that the host stores for its user. */
export interface HostSettings {
  /** Local port tried first for SSH/SFTP; null = any free port. 1024…65535, 10000 or above is advised. */
  readonly preferredSshPort: number | null
  /** Whether ~/.ssh/config gets the Host blocks of open sessions (by one Include line). */
  readonly manageSshConfig: boolean
}

/**
 * Origin of a link's address: `berth` if this program made it or got it from its server, e.g. an app of a session or a sign-in; `text` if
 * somebody may have written it, e.g. in a terminal, a log or a file.
 */
export type LinkSource = 'berth' | 'text'

/** The manager that the desktop app talks to: that of the stack on this computer, or one at a URL. */
export type EndpointChoice = { readonly kind: 'embedded' } | { readonly kind: 'remote'; readonly url: string }
export interface Endpoint {
  /**
   * `fixed` if the endpoint cannot be chosen (browser: the origin the page came from; desktop: BERTH_ENDPOINT); `none` before the first
   * choice.
   */
  readonly kind: EndpointChoice['kind'] | 'fixed' | 'none'
  /** `''` with `none`, and while the embedded stack is still starting. */
  readonly url: string
}

/** Services of the host for the console. One method is one user-visible act. Served by IPC in Electron, by `/host/*` for browsers. */
export interface HostApi {
  host: {
    info(): Promise<HostInfo>
    settings(): Promise<HostSettings>
    /** @throws `bad_request` */
    saveSettings(settings: HostSettings): Promise<HostSettings>
    /**
     * Opens an allowed URL (https, vscode and the like) outside the app; a link from a text opens only once the user has agreed to its
     * host. @returns `false` where the page itself has to open it @throws `forbidden`
     */
    openExternal(url: string, source: LinkSource): Promise<boolean>
    endpoint(): Promise<Endpoint>
    /**
     * Resolves once the manager there answers; live tunnels of the old endpoint are closed.
     * @throws `forbidden` if the endpoint is fixed, `unavailable`
     */
    setEndpoint(choice: EndpointChoice): Promise<Endpoint>
  }
  tunnel: {
    /** Listens on loopback and forwards to an app; the same spec again returns the same tunnel.
     *  @throws `session_not_running`, `app_not_found`, `app_failed`, `port_silent`,
     *  `port_in_use` (detail: port, holder) */
    open(spec: TunnelSpec): Promise<Tunnel>
    /** Opens (or reuses) the tunnel of an HTTP app and makes a one-time URL for it. @throws as `open` */
    openApp(spec: TunnelSpec): Promise<AppUrl>
    list(): Promise<Tunnel[]>
    /** Resolves once the listener and every piped socket are closed; an unknown id is a no-op. */
    close(id: TunnelId): Promise<void>
    /** Call when the network of this computer has changed: waiting connections retry at once. */
    wake(): Promise<void>
  }
  ssh: {
    /** Opens the tunnel of `sshd` and prepares key, known_hosts and Host block. @throws as `tunnel.open` */
    connect(spec: TunnelSpec): Promise<SshKit>
    /** The session's key (id_container) or a site file for a client program. */
    keyFile(sessionId: SessionId, format: KeyFormat): Promise<KeyFile>
    /** Programs that were found on this computer; none in a browser. */
    programs(): Promise<readonly Program[]>
    /**
     * Opens the session in a program; allowed only right after a click or a key of the user. @throws as `connect`, `forbidden`,
     * `unavailable`
     */
    openIn(program: Program, sessionId: SessionId): Promise<void>
  }
  sftp: {
    /**
     * Opens the port that serves all folders by SFTP, with keys and Host block; a second call returns the same kit.
     * @throws `port_in_use` (detail: port, holder), `app_open_elsewhere`
     */
    open(spec: FolderPortSpec): Promise<FolderKit>
    /** The open port; null if there is none. */
    state(): Promise<FolderPort | null>
    /** Resolves once the port and its connections are closed. */
    close(): Promise<void>
    /** The key for programs of this computer, or a site file. Opens the port if it is closed. */
    keyFile(format: KeyFormat): Promise<KeyFile>
  }
  /** Files of folders that the user drags out of the window. In a browser both methods fail with `forbidden`. */
  drag: {
    /** Fetches files to this computer, where a drag can take them. @returns id for `start` @throws `body_too_large` (detail: limit) */
    fetch(files: DraggedOut): Promise<string>
    /**
     * Gives fetched files to a drag of the system, while the user holds the button. Resolves when the user lets go; on macOS at once.
     * @returns whether the drag is over @throws `not_found` if others were fetched since, `forbidden` without a click
     */
    start(id: string): Promise<boolean>
  }
  /** The desktop app itself. In a browser all but `language` fail with `forbidden`. */
  desktop: {
    /** Addresses of servers that were connected to, the latest first. */
    servers(): Promise<readonly string[]>
    /** @returns the remaining servers */
    forgetServer(url: string): Promise<readonly string[]>
    /** Opens a server beside the present one, as a second app with its own sign-in, tunnels and settings. */
    openServer(url: string): Promise<void>
    /** State of the start of Berth on this computer; `stack:changed` reports later changes. */
    stack(): Promise<StackStart>
    /** Shows the folder of the log files. */
    showLogs(): Promise<void>
    /** Shows the folder of the crash reports. */
    showCrashReports(): Promise<void>
    /** Lets the user choose a PEM file of certificate authorities that are trusted from now on. @throws `bad_request` for another file */
    chooseCaFile(): Promise<DesktopOptions>
    /** Language of menus and questions: that of the page. */
    language(language: 'en' | 'ko'): Promise<void>
    /** Theme of menus, questions and title bars: that of the page. */
    theme(theme: 'system' | 'light' | 'dark'): Promise<void>
    options(): Promise<DesktopOptions>
    saveOptions(options: DesktopOptions): Promise<DesktopOptions>
    /** Call when the user asks for another try: questions that they cancelled, e.g. for the password of a proxy, may come again. */
    tryAgain(): Promise<void>
    /**
     * Asks the user in a system dialog whether to accept the new certificate of the present server, which is blocked until then.
     * @returns whether its certificate is the known one now @throws `unavailable`
     */
    newCertificate(): Promise<boolean>
    /** Reports the state for badge, tray and task bar; call on every change. */
    report(report: DesktopReport): Promise<void>
    /** Open warnings; `desktop:warned` reports later changes. */
    warnings(): Promise<readonly DesktopWarning[]>
    /** Marks a warning as read. It comes back only with another cause. */
    closeWarning(kind: DesktopWarning['kind']): Promise<void>
    /** Shows a notification; a click on it leads to its route. */
    notify(notice: DesktopNotice): Promise<void>
  }
  terminal: {
    /** Opens a terminal and returns its id; only where the page cannot open a WebSocket to the manager itself (Electron). */
    open(spec: {
      sessionId: SessionId
      name: string
      /** Role of the container; left out: the main one. */
      kernel?: string | undefined
      cols: number
      rows: number
    }): Promise<string>
    write(id: string, data: Uint8Array): Promise<void>
    resize(id: string, size: { cols: number; rows: number }): Promise<void>
    close(id: string): Promise<void>
  }
}

/** Events that the host pushes to the page. Payloads are structured-clone data only. */
export interface HostEvents {
  'tunnel:changed': Tunnel
  /** Tunnels that carry bytes, at most once a second; with rates of 0 when they stop. */
  'tunnel:traffic': readonly TunnelTraffic[]
  'tunnel:closed': { id: TunnelId; reason: 'user' | 'session_ended' | 'error' }
  'stack:changed': StackStart
  /** All warnings that are open now. */
  'desktop:warned': readonly DesktopWarning[]
  /** Null: the port was closed. */
  'sftp:changed': FolderPort | null
  'terminal:data': { id: string; data: Uint8Array }
  'terminal:closed': { id: string; code: number; reason: string }
}

/** The method names of HostApi at run time; a missing or extra name does not compile. */
export const HOST_METHODS = {
  host: { info: true, settings: true, saveSettings: true, openExternal: true, endpoint: true, setEndpoint: true },
  tunnel: { open: true, openApp: true, list: true, close: true, wake: true },
  ssh: { connect: true, keyFile: true, programs: true, openIn: true },
  sftp: { open: true, state: true, close: true, keyFile: true },
  drag: { fetch: true, start: true },
  desktop: {
    servers: true,
    forgetServer: true,
    openServer: true,
    stack: true,
    showLogs: true,
    showCrashReports: true,
    chooseCaFile: true,
    language: true,
    theme: true,
    options: true,
    saveOptions: true,
    tryAgain: true,
    newCertificate: true,
    report: true,
    warnings: true,
    closeWarning: true,
    notify: true,
  },
  terminal: { open: true, write: true, resize: true, close: true },
} as const satisfies { [G in keyof HostApi]: { [M in keyof HostApi[G]]: true } }

export const HOST_EVENTS = {
  'tunnel:changed': true,
  'tunnel:traffic': true,
  'tunnel:closed': true,
  'sftp:changed': true,
  'stack:changed': true,
  'desktop:warned': true,
  'terminal:data': true,
  'terminal:closed': true,
} as const satisfies { [E in keyof HostEvents]: true }

export type Reply<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: WireError }
type Replying<F> = F extends (...args: infer A) => Promise<infer R> ? (...args: A) => Promise<Reply<R>> : never
/** `window.host`: replies, not throws, because an Error loses its `code` on both hops. */
export type HostBridge = {
  readonly [G in keyof HostApi]: { readonly [M in keyof HostApi[G]]: Replying<HostApi[G][M]> }
}

/** `window.hostEvents`; `on` returns the unsubscribe function. */
export interface HostEventsBridge {
  on<E extends keyof HostEvents>(event: E, listener: (payload: HostEvents[E]) => void): () => void
}

/** Electron: every host event, as (name, payload), on one channel. */
export const HOST_EVENT_CHANNEL = 'host:event'
export const channelOf = (group: string, method: string) => `host:${group}.${method}`
/** The same method for browsers: `POST /host/tunnel/open` with the JSON array of arguments, answered with a Reply. */
export const pathOf = (group: string, method: string) => `/host/${group}/${method}`
/** Host events for browsers (SSE, event name = key of HostEvents). */
export const HOST_EVENTS_PATH = '/host/events'
