import { type AgentId, because, isFinished, type KernelId, type Reason, type SessionId } from '#manager/contract'
import { type Log } from '../../log.ts'
import { type Store } from '../../store/open-store.ts'
import { listKernels, noteKernelDone, noteKernelRunning } from '../../store/sessions/kernels.ts'
import { countEventsOf } from '../../store/sessions/session-events.ts'
import { touchSessions } from '../../store/sessions/touches.ts'
import { type SessionChanges } from '../changes.ts'
import { type Change, hasKernel, isStarting } from '../transition.ts'
import { afterFailure, type Failure } from './failure.ts'
import { type StartsInFlight } from './starts-in-flight.ts'

export interface Started {
  readonly kernelId: KernelId
  readonly attempt: number
  readonly containerId: string
  /** Left out if it has just started. */
  readonly startedAt?: string
  readonly reason: Reason
  /** The session is known to have no other kernel. */
  readonly isOnly?: boolean
}

export interface Done {
  readonly kernelId: KernelId
  readonly attempt: number
  readonly agentId: AgentId
}

/** The reason of a running session that we started, in contrast to one that was found running. */
export const STARTED: Reason = { code: 'started', message: 'The container started.' }

/** The reason of a session that is stopped for another one, and continues later. */
export const INTERRUPTED: Reason = {
  code: 'interrupted',
  message:
    'Interrupted for a session of higher priority. It keeps its files and its place in the queue, and continues later.',
}

export interface OutcomesDeps {
  readonly store: Store
  readonly changes: SessionChanges
  readonly starts: Pick<StartsInFlight, 'giveUp'>
  readonly maxAttempts: number
  readonly log: Log
}

/** Writes the outcome of a start: the session runs, waits for another attempt, or ends. */
export type Outcomes = ReturnType<typeof createOutcomes>

export function createOutcomes({ store, changes, starts, maxAttempts, log }: OutcomesDeps) {
  /** @param learned facts about the running kernel, if it is the one for which the session has waited */
  async function runOnceAllDo(id: SessionId, attempt: number, learned: Omit<Change, 'to'>): Promise<void> {
    await changes.apply(id, state => {
      // A SCHEDULED session cannot run yet: no request has been sent to an agent.
      if (!isStarting(state.status) || state.status === 'SCHEDULED' || state.attempt !== attempt) return undefined
      if (learned.kernelId !== undefined && !hasKernel(state, learned.kernelId)) return undefined
      const late = state.kernels.some(
        kernel => kernel.id !== learned.kernelId && kernel.status !== 'RUNNING' && !isFinished(kernel.status),
      )
      return late ? undefined : { to: 'RUNNING', ...learned }
    })
  }

  return {
    async markRunning(id: SessionId, started: Started): Promise<void> {
      const { kernelId, attempt, containerId, startedAt, reason, isOnly = false } = started
      if (!isOnly && (await listKernels(store.db, [id])).length > 1)
        await noteKernelRunning(store.db, kernelId, started)
      await runOnceAllDo(id, attempt, { reason, kernelId, containerId, startedAt })
    },

    async markDone(id: SessionId, done: Done): Promise<boolean> {
      if (!(await noteKernelDone(store.db, done.kernelId, done))) return false
      changes.hint(await touchSessions(store.db, [id]))
      await runOnceAllDo(id, done.attempt, { reason: STARTED })
      return true
    },

    async markFailed(id: SessionId, attempt: number, failure: Failure): Promise<void> {
      const { cause } = failure
      const free = await countEventsOf(store.db, id, 'host_unfit')
      const applied = await changes.apply(id, state => {
        if (!isStarting(state.status) || state.attempt !== attempt) return undefined
        return afterFailure(failure, { counted: attempt - free, maxAttempts })
      })
      if (!applied) return
      log.warn({ id, attempt, to: applied.to, cause: cause.message }, 'session start failed')
      // The request may still be in flight, to an agent that does not answer. The next attempt does not wait for it.
      for (const kernelId of applied.kernelIds) starts.giveUp(kernelId, attempt, because('attempt_failed'))
    },
  }
}
