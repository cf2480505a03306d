import { type Device, type DeviceFigures, type DeviceMode } from '#manager/contract'

/** A GPU, or an instance of one, as it is found on the host. */
export interface FoundGpu {
  readonly uuid: string
  readonly model: string
  /** 0 where the driver does not tell. */
  readonly memBytes: number
  /** `mig` for an instance; otherwise what the configuration says of a GPU that no admin has set yet. */
  readonly mode: DeviceMode
  /** Why what it has is not its alone; null where it is. */
  readonly sharedBecause: string | null
  /** Why nothing may be started on it; null for a healthy one. */
  readonly problem: string | null
}

export interface GpuLook {
  readonly gpus: readonly FoundGpu[]
  readonly figures: readonly DeviceFigures[]
}

/** A way to find GPUs. One that finds none is absent, not broken. What takes long is ended by the signal, and then rejects. */
export interface GpuPlugin extends AsyncDisposable {
  readonly name: Device['plugin']
  /** Everything that is there now, and what was there before and is not any more, as a problem. */
  look(signal: AbortSignal): Promise<GpuLook>
  /** Use of all its devices now, for a second's figures. */
  figures(signal: AbortSignal): Promise<readonly DeviceFigures[]>
}
