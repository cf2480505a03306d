import { type Because, type Device, type DeviceFigures, type DeviceMode } from '#manager/contract'

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

/** A way to find GPUs. A plugin that finds none is absent, not broken. The signal ends a slow look, which then rejects. */
export interface GpuPlugin extends AsyncDisposable {
  readonly name: Device['plugin']
  /** All devices present now, and devices that have disappeared, each with a problem. */
  probe(signal: AbortSignal): Promise<GpuProbe>
  /** Current use of all its devices; called once a second while a session holds a GPU. */
  figures(signal: AbortSignal): Promise<readonly DeviceFigures[]>
  /**
   * Processes on these devices, by which sessions on one device are told apart; called once a second while a session holds a share.
   * A device is missing if the driver does not list its processes.
   */
  processes(uuids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, readonly GpuProcess[]>>
}
