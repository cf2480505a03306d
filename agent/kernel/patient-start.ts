import { setTimeout as delay } from 'node:timers/promises'
import { type KernelLabel, type KernelSpec } from '#agent/contract'
import { AppError, because, type KernelId, type PullProgress } from '#manager/contract'
import { engineMessage, isNoAnswer } from '../docker/engine-client.ts'
import { type HeldImage } from '../images/pull.ts'
import { type Log } from '../log.ts'
import { type CreateDeps, type CreatedKernel, type Creation, createKernel, undoKernel } from './create-kernel.ts'
import { type EngineView } from './engine-view.ts'
import { type KernelEntries } from './kernel-entries.ts'
import { type NetworkUse } from './network-use.ts'
import { type StartDeadline } from './start-deadline.ts'

export interface PatientStartDeps extends CreateDeps {
  readonly entries: KernelEntries
  readonly view: Pick<EngineView, 'limits'>
  readonly networkUse: Pick<NetworkUse, 'leave' | 'forget'>
  readonly onPull: (kernelId: KernelId, progress: PullProgress) => void
  readonly stop: AbortSignal
  readonly log: Log
}

export interface StartOptions extends Pick<Creation, 'registryAuth' | 'offer' | 'cpus'> {
  readonly deadline: StartDeadline
  readonly signal: AbortSignal
}

export interface PatientStart {
  /** @param held the image, if a search before this call has found it @throws AppError `engine_busy`, and as `createKernel` */
  readonly createInTime: (
    spec: KernelSpec,
    label: KernelLabel,
    options: StartOptions & { readonly held: HeldImage | undefined },
  ) => Promise<CreatedKernel>
  /** Removes what a start has left, and tries until that succeeds or the agent stops. */
  readonly undo: (label: KernelLabel) => Promise<void>
}

const UNDO_RETRY_MS = 1_000

/** Starts a kernel, and undoes a start, with an engine that may not answer for a while. */
export function createPatientStart(deps: PatientStartDeps): PatientStart {
  const { entries, view, stop, log } = deps

  /** Repeats the start while the engine does not answer: an overloaded engine is not the session's fault. */
  async function createInTime(
    spec: KernelSpec,
    label: KernelLabel,
    { held: heldAtFirst, ...options }: StartOptions & { readonly held: HeldImage | undefined },
  ): Promise<CreatedKernel> {
    const { kernelId } = spec
    let held = heldAtFirst
    const setPhase = (phase: 'pulling' | 'preparing') => {
      const entry = entries.get(kernelId)
      if (entry?.state.state !== 'starting' || entry.state.phase === phase) return
      entries.set(kernelId, { ...entry, state: { state: 'starting', phase } })
    }
    for (;;) {
      try {
        return await createKernel(deps, {
          ...options,
          spec,
          label,
          limits: view.limits,
          held,
          onPull: progress => {
            setPhase('pulling')
            deps.onPull(kernelId, progress)
          },
          onImage: () => setPhase('preparing'),
        })
      } catch (error) {
        const withoutPlace = deps.liveFolders.learnRefusal(error)
        if (!isNoAnswer(error) && !withoutPlace) throw error
        held = undefined
        log.warn({ kernelId, why: engineMessage(error) }, 'the engine gave no answer; the start is tried again')
        await undo(label)
        // The kernel is a member of its network again.
        deps.networkUse.forget(kernelId)
        if (!options.signal.aborted) continue
        throw new AppError('engine_busy', because('docker_overloaded'), { cause: error })
      }
    }
  }

  async function undo(label: KernelLabel): Promise<void> {
    const { kernelId } = label
    while (!stop.aborted) {
      try {
        await undoKernel(deps, label, () => deps.networkUse.leave(label))
        return
      } catch (error) {
        log.warn({ kernelId, why: engineMessage(error) }, 'cleaning up is tried again')
        await delay(UNDO_RETRY_MS, undefined, { signal: stop }).catch(() => undefined)
      }
    }
  }

  return { createInTime, undo }
}
