import { setTimeout as delay } from 'node:timers/promises'
import { type KernelReport } from '#agent/contract'
import { type KernelId } from '#manager/contract'
import { engineMessage } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'

/**
 * Successful starts of which perhaps no manager has learnt. A manager that hears nothing by the deadline of a start starts the session
 * elsewhere, and the same session must not run twice, so such a start is undone.
 */
export interface UnheardStarts {
  /** @param withinMs time until the start is undone */
  watch(kernelId: KernelId, attempt: number, withinMs: number): void
  /** Call it when a manager has processed a report of these kernels. */
  heard(reports: readonly KernelReport[]): void
  forget(kernelId: string): void
}

export interface UnheardStartsDeps {
  readonly takeBack: (kernelId: KernelId, attempt: number) => Promise<unknown>
  readonly stop: AbortSignal
  readonly log: Log
}

interface Start {
  readonly attempt: number
  readonly timer: NodeJS.Timeout
}

const RETRY_MS = 1_000

export function createUnheardStarts({ takeBack, stop, log }: UnheardStartsDeps): UnheardStarts {
  const starts = new Map<string, Start>()

  function forget(kernelId: string): void {
    clearTimeout(starts.get(kernelId)?.timer)
    starts.delete(kernelId)
  }

  async function giveUp(kernelId: KernelId, attempt: number): Promise<void> {
    const isUnheard = () => starts.get(kernelId)?.attempt === attempt
    while (isUnheard() && !stop.aborted) {
      try {
        log.warn({ kernelId }, 'no manager has confirmed this start in time; undoing it')
        await takeBack(kernelId, attempt)
        return
      } catch (error) {
        log.warn({ kernelId, why: engineMessage(error) }, 'undoing a start failed; trying again')
        await delay(RETRY_MS, undefined, { signal: stop }).catch(() => undefined)
      }
    }
  }

  stop.addEventListener('abort', () => {
    for (const { timer } of starts.values()) clearTimeout(timer)
  })
  return {
    watch(kernelId, attempt, withinMs) {
      forget(kernelId)
      starts.set(kernelId, { attempt, timer: setTimeout(() => void giveUp(kernelId, attempt), withinMs) })
    },
    heard(reports) {
      for (const { kernelId, attempt, state } of reports) {
        if (state.state !== 'starting' && starts.get(kernelId)?.attempt === attempt) forget(kernelId)
      }
    },
    forget,
  }
}
