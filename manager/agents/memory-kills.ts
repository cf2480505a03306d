import { type AgentId, because, type KernelId, type Reason, reasonOf } from '#manager/contract'
import { sizeText } from '#base/size-text'
import { type SessionChanges } from '../sessions/changes.ts'
import { findSessionOfKernel } from '../store/sessions/kernel-owner.ts'
import { type Store } from '../store/open-store.ts'
import { countEventsOf, hasRecentEvent, insertSessionEvents } from '../store/sessions/session-events.ts'
import { lockSession } from '../store/sessions/sessions.ts'
import { touchSessions, updateReasons } from '../store/sessions/touches.ts'

/** Within this time, further kills of a session are not added to its timeline: a program may be started again and again. */
const QUIET_MS = 60_000
/** After so many kills of a session, the quiet time is longer: each is a row of its timeline, which is read as a whole. */
const MANY = 30
const QUIET_AFTER_MANY_MS = 3600_000
/** Time for which the running session shows the last kill; its timeline keeps it. */
const TOLD_MS = 3600_000

export interface MemoryKillsDeps {
  readonly store: Pick<Store, 'db' | 'transaction' | 'now'>
  readonly changes: Pick<SessionChanges, 'hint'>
}

/**
 * Adds to the timeline that a program of a running kernel was ended because the container had used up its memory. Every manager gets the
 * report, and one of them writes.
 */
export async function noteMemoryKill(
  { store, changes }: MemoryKillsDeps,
  agentId: AgentId,
  kernelId: KernelId,
): Promise<void> {
  const owner = await findSessionOfKernel(store.db, kernelId)
  if (owner?.agentId !== agentId) return
  const { sessionId } = owner
  const limit = sizeText(owner.slots.mem ?? 0)
  const why = because('program_out_of_memory', { limit })
  const reason = reasonOf('memory_killed', why)
  const told = { ...reason, until: new Date(store.now() + TOLD_MS).toISOString() }
  const touched = await store.transaction(async trx => {
    const session = await lockSession(trx, sessionId)
    if (session?.status !== 'RUNNING') return []
    const isMany = (await countEventsOf(trx, sessionId, 'memory_killed')) >= MANY
    const withinMs = isMany ? QUIET_AFTER_MANY_MS : QUIET_MS
    const isQuiet = await hasRecentEvent(trx, sessionId, { code: 'memory_killed', withinMs })
    if (!isQuiet)
      await insertSessionEvents(trx, [{ sessionId, kernelId, from: 'RUNNING', to: 'RUNNING', reason, actor: null }])
    // The reason of an imported session of several kernels says that some of them may still be missing, so it is kept.
    if (session.reason.code === 'imported') return isQuiet ? [] : touchSessions(trx, [sessionId])
    if (isQuiet && wasJustTold(session.reason, store.now())) return []
    return updateReasons(trx, 'RUNNING', new Map([[sessionId, told]]))
  })
  changes.hint(touched)
}

/** Whether the session already shows a kill of the last minute: one more would change almost nothing. */
const wasJustTold = ({ code, until }: Reason, now: number): boolean =>
  code === 'memory_killed' && until !== undefined && Date.parse(until) > now + TOLD_MS - QUIET_MS
