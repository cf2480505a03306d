import { type KernelId, type SessionId, type SessionStatus, type UserId } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { listKernels, updateKernel } from '../store/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { insertSessionEvents } from '../store/session-events.ts'
import { lockSession, type SessionRow, type Touched, updateSession } from '../store/sessions.ts'
import { type Change, type Effects, type SessionState, transition } from './transition.ts'

/** The state that a decision is made on, locked until it is carried out. */
export interface LockedSession extends SessionState {
  readonly session: SessionRow
  readonly kernelId: KernelId
  readonly startBy: Date | null
}

export interface Applied {
  readonly sessionId: SessionId
  readonly kernelId: KernelId
  readonly ownerId: UserId
  readonly from: SessionStatus
  readonly to: SessionStatus
  readonly version: number
  readonly effects: Effects
}

/** The only way in which a session changes its status, besides being inserted or placed. */
export interface SessionChanges {
  /**
   * Locks the session, asks `decide` what to do with what is true now, and writes session, kernel and timeline in one
   * transaction; tells the listeners after the commit.
   *
   * @param decide returns undefined to leave everything as it is; may run again if the transaction is repeated
   * @returns undefined if nothing was done or there is no such session
   */
  apply(id: SessionId, decide: (state: LockedSession) => Change | undefined): Promise<Applied | undefined>
  /** Tells clients that these sessions have a newer version. */
  hint(touched: readonly Touched[]): void
  /** Called after every commit of a transition. */
  onApplied(listener: (applied: Applied) => void): void
}

export interface SessionChangesDeps {
  readonly store: Store
  readonly events: EventPublisher
}

export function createSessionChanges({ store, events }: SessionChangesDeps): SessionChanges {
  const listeners: ((applied: Applied) => void)[] = []
  const hint = (touched: readonly Touched[]) => {
    for (const { id, ownerId, version } of touched) {
      events.publish({ topic: 'session', id, version }, { userId: ownerId })
    }
  }
  return {
    hint,
    onApplied: listener => void listeners.push(listener),
    async apply(id, decide) {
      const applied = await store.transaction(trx => applyChange(trx, id, decide))
      if (!applied) return undefined
      hint([{ id, ownerId: applied.ownerId, version: applied.version }])
      for (const listener of listeners) listener(applied)
      return applied
    },
  }
}

async function applyChange(
  trx: Db,
  id: SessionId,
  decide: (state: LockedSession) => Change | undefined,
): Promise<Applied | undefined> {
  const session = await lockSession(trx, id)
  if (!session) return undefined
  const [kernel] = await listKernels(trx, [id])
  if (!kernel) throw new Error(`session ${id} has no kernel`)
  const state: LockedSession = {
    session,
    status: session.status,
    attempt: session.attempt,
    failedAgents: session.failed_agents,
    kernelId: kernel.id,
    agentId: kernel.agent_id,
    startBy: kernel.start_by,
  }
  const change = decide(state)
  if (!change) return undefined
  const effects = transition(state, change)
  const version = await updateSession(trx, id, {
    status: change.to,
    reason: change.reason,
    ended: effects.ended,
    ...(effects.failedAgents ? { failedAgents: effects.failedAgents } : {}),
    ...(effects.started === undefined ? {} : { started: effects.started }),
  })
  await updateKernel(trx, kernel.id, {
    status: change.to,
    ...(change.containerId === undefined ? {} : { container_id: change.containerId }),
    ...(change.exitCode === undefined ? {} : { exit_code: change.exitCode }),
    ...(change.logTail === undefined ? {} : { log_tail: change.logTail }),
    ...(change.startWithinMs === undefined ? {} : { startWithinMs: change.startWithinMs }),
    ...(effects.released ? { agent_id: null, container_id: null, startWithinMs: null } : {}),
  })
  await insertSessionEvents(trx, [
    {
      sessionId: id,
      kernelId: kernel.id,
      from: state.status,
      to: change.to,
      reason: change.reason,
      actor: change.actor ?? null,
    },
  ])
  const { owner_id: ownerId } = session
  return { sessionId: id, kernelId: kernel.id, ownerId, from: state.status, to: change.to, version, effects }
}
