import { type KernelApp, type KernelSpec } from '#agent/contract'
import { type AppOptions, type KernelId, type SessionId } from '#manager/contract'

/** A kernel whose container runs, as seen by the parts of the agent that connect to it. */
export interface RunningKernel {
  readonly kernelId: KernelId
  readonly sessionId: SessionId
  readonly containerId: string
  /** IPv4 address on the bridge of its session; reachable from this host only. */
  readonly address: string
  /** `uid:gid`, to be used for every exec. */
  readonly user: string
  /** Apps of the image, and the built-in ones. */
  readonly apps: readonly KernelApp[]
  /** Variables that the session requested; the image's own environment is not included. */
  readonly environ: Readonly<Record<string, string>>
  /** Process id of the main process on this host; 0 if unknown. */
  readonly pid: number
  /** Directories of this host with the volumes that its image declares outside of the home. */
  readonly volumes?: readonly string[]
  /** UUIDs of its GPUs. */
  readonly devices: readonly string[]
  /** Parts of GPUs in the mode `shared`, as they were requested. */
  readonly shares: KernelSpec['devices']
}

/** Queries of other parts of the agent about kernels. */
export interface Kernels {
  /** Undefined unless the kernel's container runs now. */
  find(kernelId: string): RunningKernel | undefined
  /**
   * Starts the app unless its port is open already, and waits until it is. Calls for the same app share one start. An app that runs with
   * other options is restarted with the given ones.
   * @throws `kernel_not_found`, `app_not_found`, `app_failed` (with the end of its output), `app_option_refused`, `port_silent`
   */
  ensureApp(kernelId: string, app: string, how?: HowToStart): Promise<StartedApp>
}

export interface HowToStart {
  readonly timeoutMs?: number | undefined
  /** Left out: any options are acceptable. */
  readonly options?: AppOptions | undefined
}

export interface StartedApp {
  readonly app: KernelApp
  /** Header that the proxy adds to every request, so that the user never sees the secret. */
  readonly inject: { readonly header: string; readonly value: string } | null
}
