import { type ProxyFault } from '#proxy/contract'

/** What `berth doctor` looked at, as plain data. `collect.ts` gathers it, `checks/` judge it. */
export interface Facts {
  readonly platform: NodeJS.Platform
  readonly isRoot: boolean
  readonly nodeVersion: string
  readonly data: DataDirectory
  readonly engine: Engine
  readonly nvidia: Nvidia
  readonly consolePort: ConsolePort
  readonly database: DatabaseFacts
  /** Files that must be readable by their owner only, those that exist. */
  readonly secrets: readonly SecretFile[]
  /** The Berth that holds the data directory. */
  readonly running: { readonly url: string; readonly pid: number } | undefined
  /** Clock of the running manager minus ours; undefined where none runs. Whole seconds, as HTTP has it. */
  readonly managerAheadMs: number | undefined
  /** What the running manager says of itself and the others on its database; undefined where none runs. */
  readonly managerWarnings: readonly string[] | undefined
  /** What the running console has seen of the reverse proxy in front of it; undefined where none runs. */
  readonly proxyFaults: readonly ProxyFault[] | undefined
  readonly iptables: boolean
  /** net.ipv4.ip_forward; undefined where there is no such thing. */
  readonly ipForward: boolean | undefined
  readonly localhostNamesResolve: boolean
  /** What `ssh -V` says; undefined where there is none. */
  readonly sshVersion: string | undefined
}

export interface DataDirectory {
  readonly path: string
  readonly exists: boolean
  /** Permission bits; undefined where the platform has none or the directory is not there. */
  readonly mode: number | undefined
  /** True where it belongs to another user than the one who asks. */
  readonly foreign: boolean
  readonly freeBytes: number | undefined
}

export type Engine =
  | { readonly status: 'unreachable'; readonly why: string }
  | {
      readonly status: 'reachable'
      readonly version: string
      readonly apiVersion: string
      readonly liveRestore: boolean
      readonly cgroupVersion: string
      readonly storageDriver: string
      readonly rootDirectory: string
      /** undefined where it is on another machine. */
      readonly rootFreeBytes: number | undefined
      readonly runtimes: readonly string[]
      /** True where devices can be asked for by CDI. */
      readonly cdi: boolean
      readonly toolbox: { readonly image: string; readonly present: boolean }
      /** Images that sessions can be made of. */
      readonly sessionImages: number
    }

export type Nvidia =
  | { readonly status: 'absent' }
  | { readonly status: 'failing'; readonly why: string }
  | { readonly status: 'works'; readonly driver: string; readonly gpus: number; readonly limitsMemory: boolean }

export interface ConsolePort {
  readonly port: number
  readonly status: 'free' | 'taken' | 'ours'
}

export type DatabaseFacts =
  | {
      readonly kind: 'embedded'
      /** PG_VERSION of the cluster; undefined before the first start. */
      readonly version: string | undefined
      /** Permission bits of the cluster. */
      readonly mode: number | undefined
      /** False where only another user may look at it. */
      readonly readable: boolean
    }
  | { readonly kind: 'external'; readonly status: 'unreachable'; readonly why: string }
  | {
      readonly kind: 'external'
      readonly status: 'reachable'
      readonly version: string
      /** `server_version_num`. */
      readonly versionNumber: number
      /** Its clock minus ours. */
      readonly aheadMs: number
    }

export interface SecretFile {
  readonly path: string
  readonly mode: number
}
