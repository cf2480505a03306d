import { type GpuName } from '#agent/contract'
import { type CertificateReport } from '#manager/contract'
import { type AppsState, type ProxyFault } from '#proxy/contract'

/** Facts collected by `berth doctor`, as plain data. `collect.ts` gathers them, `checks/` judge them. */
export interface Facts {
  readonly platform: NodeJS.Platform
  readonly isRoot: boolean
  readonly nodeVersion: string
  readonly data: DataDirectory
  readonly homes: Homes
  /** Result of the agent's health command; undefined if none is set. `failure`: the end of its output. */
  readonly health: { readonly program: string; readonly failure: string | undefined } | undefined
  /** Settings of Slurm, whose commands are on this computer; undefined: there are none, or they do not answer. */
  readonly slurm: SlurmFacts | undefined
  readonly sessionFiles: readonly SessionFiles[]
  /** Undefined on a system other than Linux. */
  readonly kernelLimits: KernelLimits | undefined
  readonly engine: Engine
  readonly nvidia: Nvidia
  readonly amd: AmdFacts
  readonly consolePort: ConsolePort
  readonly database: DatabaseFacts
  /** Existing files that must be readable by their owner only. */
  readonly secrets: readonly SecretFile[]
  /** The Berth that holds the data directory. */
  readonly running: { readonly url: string; readonly pid: number } | undefined
  /** Clock of the running manager minus ours; undefined if none runs. Whole seconds, as in HTTP. */
  readonly managerAheadMs: number | undefined
  /** Warnings of the running manager about itself and the others on its database; undefined if none runs. */
  readonly managerWarnings: readonly string[] | undefined
  /** Faults that the running console has seen in the reverse proxy in front of it; undefined if none runs. */
  readonly proxyFaults: readonly ProxyFault[] | undefined
  /** Address of apps of the running console, and whether it leads there; undefined if none runs. */
  readonly apps: AppsState | undefined
  /** The certificate that the running console presents; undefined without TLS, or if none runs. */
  readonly certificate: CertificateReport | undefined
  /** Readers of /metrics without a sign-in. `hosts`: addresses other than loopback at which Berth listens. */
  readonly metrics: { readonly hosts: readonly string[]; readonly hasToken: boolean }
  readonly now: Date
  readonly update: UpdateFacts
  readonly iptables: IptablesFacts
  /** net.ipv4.ip_forward; undefined if the setting does not exist. */
  readonly ipForward: boolean | undefined
  readonly localhostNamesResolve: boolean
  /** Output of `ssh -V`; undefined if there is no ssh. */
  readonly sshVersion: string | undefined
}

/** Result of checking the signed list of versions; `off` where this package names none. */
export type UpdateFacts = { readonly version: string } & (
  | { readonly status: 'off' | 'newest' }
  | { readonly status: 'newer'; readonly newer: string }
  | { readonly status: 'unknown'; readonly why: string }
)

export interface DataDirectory {
  readonly path: string
  readonly exists: boolean
  /** Permission bits; undefined if the platform has none or the directory does not exist. */
  readonly mode: number | undefined
  /** True if the directory belongs to another user than the caller. */
  readonly foreign: boolean
  readonly freeBytes: number | undefined
}

export interface SlurmFacts {
  /** Values of `Epilog`. */
  readonly epilogs: readonly string[]
  /** Whether one of them is Berth's; undefined: none of their files can be read on this computer. */
  readonly hasOwn: boolean | undefined
  /** Whether `sacct` answers; undefined where Slurm keeps no history in slurmdbd. */
  readonly isHistoryThere: boolean | undefined
}

/** Directory of the homes of sessions. */
export interface Homes {
  readonly path: string
  /** Undefined if it is unknown. */
  readonly freeBytes: number | undefined
  /** With less, the agent starts no session. */
  readonly floorBytes: number
}

/** A directory below which sessions own files: that of the homes, or of the folders of a storage. */
export interface SessionFiles {
  readonly path: string
  /** Whether users other than its owner and root may pass through it. */
  readonly isOpen: boolean
  /** Whether its file system is mounted with `nosuid`. */
  readonly hasNosuid: boolean
}

/** Limits of the kernel for all sessions together. */
export interface KernelLimits {
  /** Processes and threads of the computer: the smaller of kernel.pid_max and kernel.threads-max. */
  readonly processes: number
  /** fs.epoll.max_user_watches. */
  readonly epollWatches: number
  /** fs.file-max. */
  readonly files: number
  readonly memBytes: number
}

export type Engine =
  | { readonly status: 'unreachable'; readonly why: string }
  | {
      readonly status: 'reachable'
      readonly version: string
      readonly apiVersion: string
      readonly isPodman: boolean
      readonly liveRestore: boolean
      readonly cgroupVersion: string
      readonly storageDriver: string
      readonly rootDirectory: string
      /** Undefined if the engine is on another machine. */
      readonly rootFreeBytes: number | undefined
      /** Docker's own firewall, e.g. `iptables` or `nftables`; undefined if this engine does not say it. */
      readonly firewallBackend: string | undefined
      /** False if the engine's bridges are in another network namespace, or on another machine. */
      readonly hasBridgesHere: boolean
      /** Answer of the engine about GPUs. */
      readonly gpus: GpuFacts
      readonly toolbox: { readonly image: string; readonly present: boolean }
      /** Number of images whose labels describe what they offer to sessions. */
      readonly sessionImages: number
    }

/** Answer of iptables in this network. `dockerUser`: whether FORWARD leads to Docker's chain DOCKER-USER. */
export type IptablesFacts =
  | { readonly status: 'missing' }
  | { readonly status: 'failing'; readonly why: string }
  | { readonly status: 'works'; readonly dockerUser: boolean }

export interface GpuFacts {
  /** Off: the engine knows CDI, and its setting is off. Unlisted: the engine uses CDI, and does not list its devices. */
  readonly cdi: 'unknown' | 'off' | 'unlisted' | 'listed'
  /** Names of the GPUs that the engine lists. */
  readonly names: readonly string[]
  /** NVIDIA's runtime is registered. */
  readonly runtime: boolean
}

export type Nvidia =
  | { readonly status: 'absent' }
  | { readonly status: 'failing'; readonly why: string }
  | {
      readonly status: 'works'
      readonly driver: string
      /** GPUs outside MIG mode, and MIG instances. */
      readonly gpus: readonly GpuName[]
      /** NVIDIA's hook is on this computer, by which Docker hands out GPUs without CDI. */
      readonly hook: boolean
      readonly limitsMemory: boolean
    }

/** GPUs of AMD, as their driver shows them. */
export interface AmdFacts {
  /** Devices of the driver, the graphics part of a processor included. */
  readonly gpus: number
  /** Whether /dev/kfd is there, without which nothing computes on them. */
  readonly canCompute: boolean
}

export interface ConsolePort {
  readonly port: number
  readonly status: 'free' | 'taken' | 'reserved' | 'ours'
}

export type DatabaseFacts =
  | {
      readonly kind: 'embedded'
      /** PG_VERSION of the cluster; undefined before the first start. */
      readonly version: string | undefined
      /** Permission bits of the cluster. */
      readonly mode: number | undefined
      /** False if only another user may read the cluster. */
      readonly readable: boolean
    }
  | { readonly kind: 'external'; readonly status: 'unreachable'; readonly why: string }
  | {
      readonly kind: 'external'
      readonly status: 'reachable'
      readonly version: string
      /** `server_version_num`. */
      readonly versionNumber: number
      /** The server's clock minus ours. */
      readonly aheadMs: number
      /** Whether it takes no writes, as a standby. */
      readonly isReadOnly: boolean
      /** Whether commits wait for a synchronous standby that does not answer. */
      readonly waitsForStandby: boolean
      /** All servers that DATABASE_URL names, if these are several. */
      readonly servers?: readonly DatabaseServer[]
    }

/** A server of several that DATABASE_URL names. `at` is its host and port. */
export type DatabaseServer = { readonly at: string } & (
  | { readonly role: 'away'; readonly why: string }
  /** `timeline` grows with each promotion; 0 if the server does not say. */
  | { readonly role: 'primary'; readonly timeline: number }
  /** `isFed`: whether it receives the changes of a primary. */
  | { readonly role: 'standby'; readonly isFed: boolean }
)

export interface SecretFile {
  readonly path: string
  readonly mode: number
}
