import { type FoundGpu } from './gpu-plugin.ts'

/** Checks in a row that have to find a problem of a GPU before the owners of its sessions are told: a driver may only be slow. */
const FAILED_CHECKS = 2

/**
 * Notes the result of each check, and tells the owners of sessions on GPUs that have failed. An engine that cannot hand a GPU out does not
 * concern those that have it.
 */
export function createFailureNotes({
  held,
  onFailed,
}: {
  /** UUIDs held by kernels, including kernels that are being started. */
  readonly held: () => ReadonlySet<string>
  /** Called once for each failure of a GPU that kernels hold. */
  readonly onFailed: (gpu: Pick<FoundGpu, 'uuid' | 'model'>) => void
}): (gpus: readonly FoundGpu[]) => void {
  /** Checks in a row that found a problem of the GPU. */
  const failedChecks = new Map<string, number>()

  return gpus => {
    for (const gpu of gpus) {
      const count = gpu.problem === null ? 0 : (failedChecks.get(gpu.uuid) ?? 0) + 1
      failedChecks.set(gpu.uuid, count)
      if (count === FAILED_CHECKS && held().has(gpu.uuid)) onFailed(gpu)
    }
  }
}
