import { type Because, type Device, type DeviceFigures, type DeviceMode } from '#manager/contract'
import { type GpuRequest } from '../docker/gpu-request.ts'
import { type MemoryLimits } from './memory-limits.ts'

/** A GPU, or a MIG instance, as found on the host. */
export interface FoundGpu {
  readonly uuid: string
  readonly model: string
  /** 0 if the driver does not report it. */
  readonly memBytes: number
  /** `mig` for an instance; otherwise the configured mode of a GPU for which no admin has set a mode yet. */
  readonly mode: DeviceMode
  /** Reason why the device shares resources with other devices; null if it shares none. */
  readonly sharedBecause: Because | null
  /** Reason why no session may be started on the device; null for a healthy one. */
  readonly problem: Because | null
  /** Something that an administrator should look at, although sessions start on the device. */
  readonly warning?: Because | null
}

export interface GpuProbe {
  readonly gpus: readonly FoundGpu[]
  readonly figures: readonly DeviceFigures[]
}

/** A process of the host that uses a GPU. */
export interface GpuProcess {
  /** Process id on the host. */
  readonly pid: number
  /** Null if the driver does not tell. */
  readonly memBytes: number | null
  /** Percent of the whole GPU; null if it did nothing, or the driver does not tell. */
  readonly utilization: number | null
}

/** Looks at the GPUs of one maker on this host. The signal ends a slow look, which then rejects. */
export interface GpuFinder extends AsyncDisposable {
  readonly name: Device['plugin']
  /** All devices present now, and devices that have disappeared, each with a problem. None is absent, not broken. */
  probe(signal: AbortSignal): Promise<GpuProbe>
  /** Current use of all its devices; called once a second while a session holds a GPU. */
  figures(signal: AbortSignal): Promise<readonly DeviceFigures[]>
  /**
   * Processes on these devices, by which sessions on one device are told apart; called once a second while a session holds a share.
   * A device is missing if the driver does not list its processes.
   */
  processes(uuids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly GpuProcess[]>>
}

/** Outcome of a probe: whether a limit was seen to be enforced. */
export interface Verdict {
  readonly isolation: 'enforced' | 'accounted'
  readonly reason: Because
  /** The probe failed to run, perhaps only for now. */
  readonly later?: boolean
}

/** The signal ends a probe; its verdict is then meaningless. */
export type Probe = (gpu: FoundGpu, signal: AbortSignal) => Promise<Verdict>

/** Ways to request GPUs from the engine, based on its current state: files and settings change without a restart of the agent. */
export interface GpuRequests {
  /** @throws `kernel_create_failed` if the engine cannot hand them out */
  of(uuids: readonly string[]): Promise<GpuRequest>
  /** GPUs that the engine cannot offer, with the reason. @throws if the engine does not answer */
  problems(uuids: readonly string[]): Promise<ReadonlyMap<string, Because>>
}

/** How sessions are kept to their shares of a maker's GPUs. */
export type GpuShares =
  | {
      /** The driver may limit shares, and the agent guards those that it does not limit. */
      readonly by: 'driver'
      /** Tests on a free GPU whether the limits hold. */
      readonly probe: Probe
      readonly limits: Pick<MemoryLimits, 'set'>
    }
  /** Nothing keeps sessions to their shares: they are only added up. */
  | { readonly by: 'nobody'; readonly reason: Because }

/**
 * Everything that Berth knows about the GPUs of one maker, apart from what the driver reports. A new maker is a new plugin: the agent's other
 * files know none of them. Its slots are those of all GPUs, `cuda.device` and `cuda.shares`, whose names are older than the second maker.
 */
export interface GpuPlugin extends GpuFinder {
  /** Whether a UUID is one of this maker. Those of different makers never match both. */
  readonly owns: (uuid: string) => boolean
  /** Undefined for devices that exist only in the accounting: no container gets anything for them. */
  readonly requests?: GpuRequests
  readonly shares: GpuShares
}
