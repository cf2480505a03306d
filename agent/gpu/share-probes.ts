import { type DeviceMode } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Entry } from './engine-offers.ts'
import { type FoundGpu, type Verdict } from './gpu-plugin.ts'

/** Tests of whether drivers limit sessions to their shares of GPUs. */
export interface ShareProbes extends AsyncDisposable {
  verdictOf(uuid: string): Verdict | undefined
  /** Voids the verdict; the GPU is probed again once it is free. */
  forget(uuid: string): void
  /** Voids all verdicts but those of these GPUs. */
  keep(uuids: ReadonlySet<string>): void
  /** Starts to probe shared GPUs that have no verdict and are free, because a probe would take memory from a session. */
  probeFree(entries: readonly Entry[]): void
  /** Resolves when no probe runs on these GPUs any more. */
  settled(uuids: readonly string[]): Promise<void>
}

export interface ShareProbesDeps {
  readonly modeOf: (gpu: FoundGpu) => DeviceMode
  readonly hasProblem: (gpu: FoundGpu) => boolean
  /** UUIDs held by kernels, including kernels that are being started. */
  readonly held: () => ReadonlySet<string>
  readonly isEngineUp: () => boolean
  readonly onChange: () => void
  readonly signal: AbortSignal
  readonly log: Log
}

/** Delay until the next probe of a GPU that could not be probed. */
const TRY_AGAIN_MS = 10 * 60_000

/** The disposer waits for the probes in progress, which the signal ends. */
export function createShareProbes(deps: ShareProbesDeps): ShareProbes {
  const { modeOf, hasProblem, held, isEngineUp, onChange, signal, log } = deps
  const verdicts = new Map<string, Verdict & { readonly againAt: number }>()
  const probing = new Map<string, Promise<void>>()

  return {
    verdictOf: uuid => verdicts.get(uuid),
    forget(uuid) {
      verdicts.delete(uuid)
    },
    keep(uuids) {
      for (const uuid of verdicts.keys()) if (!uuids.has(uuid)) verdicts.delete(uuid)
    },
    probeFree(entries) {
      if (signal.aborted || !isEngineUp()) return
      for (const { gpu, plugin } of entries) {
        const { uuid } = gpu
        const { shares } = plugin
        if (shares.by !== 'driver' || modeOf(gpu) !== 'shared' || hasProblem(gpu)) continue
        const isKnown = (verdicts.get(uuid)?.againAt ?? 0) > performance.now()
        if (isKnown || probing.has(uuid) || held().has(uuid)) continue
        const work = shares
          .probe(gpu, signal)
          .then(verdict => {
            verdicts.set(uuid, { ...verdict, againAt: verdict.later ? performance.now() + TRY_AGAIN_MS : Infinity })
            log.info({ uuid, ...verdict }, 'tested whether memory limits for shares of a GPU are enforced')
            onChange()
          })
          .catch((error: unknown) =>
            log.warn({ uuid, err: error }, 'could not test whether memory limits for shares of a GPU are enforced'),
          )
          .finally(() => probing.delete(uuid))
        probing.set(uuid, work)
      }
    },
    async settled(uuids) {
      await Promise.all(uuids.map(async uuid => probing.get(uuid)))
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(probing.values())
    },
  }
}
