import { type AgentId, because, causeIn, type KernelId, type Reason, reasonOf } from '#manager/contract'
import { type KernelWarning } from '#agent/contract'
import { sizeText } from '#base/size-text'
import { type SessionChanges } from '../sessions/changes.ts'
import { findSessionOfKernel, type KernelOwner } from '../store/sessions/kernel-owner.ts'
import { type Store } from '../store/open-store.ts'
import { countEventsOf, hasRecentEvent, insertSessionEvents } from '../store/sessions/session-events.ts'
import { lockSession } from '../store/sessions/sessions.ts'
import { touchSessions, updateReasons } from '../store/sessions/touches.ts'

/** Within this time, further news of a kind are not added to the timeline of a session: a program may be started again and again. */
const QUIET_MS = 60_000
/** After so many news of a kind, the quiet time is longer: each is a row of the timeline, which is read as a whole. */
const MANY = 30
const QUIET_AFTER_MANY_MS = 3600_000
/** Time for which the running session shows a killed program, and a warning, which is about its use now; its timeline keeps both. */
const KILL_TOLD_MS = 3600_000
const WARNING_TOLD_MS = 600_000

export interface RunningNewsDeps {
  readonly store: Pick<Store, 'db' | 'transaction' | 'now'>
  readonly changes: Pick<SessionChanges, 'hint'>
}

/** Adds to the timeline that a program of a running kernel was ended because the container had used up its memory. */
export function noteMemoryKill(deps: RunningNewsDeps, agentId: AgentId, kernelId: KernelId): Promise<void> {
  const reasonFor = ({ slots }: KernelOwner) =>
    reasonOf('memory_killed', because('program_out_of_memory', { limit: sizeText(slots.mem ?? 0) }))
  return note(deps, { agentId, kernelId, reasonFor, toldMs: KILL_TOLD_MS })
}

/** Adds a warning of the agent about a running kernel to the timeline. */
export function noteWarning(
  deps: RunningNewsDeps,
  agentId: AgentId,
  kernelId: KernelId,
  { code, message, ...keys }: KernelWarning,
): Promise<void> {
  const known = causeIn({ ...keys, why: message })
  const reasonFor = () => (known ? reasonOf(code, known) : { code, message })
  return note(deps, { agentId, kernelId, reasonFor, toldMs: WARNING_TOLD_MS })
}

interface News {
  readonly agentId: AgentId
  readonly kernelId: KernelId
  readonly reasonFor: (owner: KernelOwner) => Reason
  readonly toldMs: number
}

/** Every manager gets the notice of the agent, and one of them writes. */
async function note({ store, changes }: RunningNewsDeps, { agentId, kernelId, reasonFor, toldMs }: News) {
  const owner = await findSessionOfKernel(store.db, kernelId)
  if (owner?.agentId !== agentId) return
  const { sessionId } = owner
  const reason = reasonFor(owner)
  const { code } = reason
  const told = { ...reason, until: new Date(store.now() + toldMs).toISOString() }
  const touched = await store.transaction(async trx => {
    const session = await lockSession(trx, sessionId)
    if (session?.status !== 'RUNNING') return []
    const isMany = (await countEventsOf(trx, sessionId, code)) >= MANY
    const withinMs = isMany ? QUIET_AFTER_MANY_MS : QUIET_MS
    const isQuiet = await hasRecentEvent(trx, sessionId, { code, withinMs })
    if (!isQuiet)
      await insertSessionEvents(trx, [{ sessionId, kernelId, from: 'RUNNING', to: 'RUNNING', reason, actor: null }])
    // The reason of an imported session of several kernels says that some of them may still be missing, so it is kept.
    if (session.reason.code === 'imported') return isQuiet ? [] : touchSessions(trx, [sessionId])
    if (isQuiet && wasJustTold(session.reason, told)) return []
    return updateReasons(trx, 'RUNNING', new Map([[sessionId, told]]))
  })
  changes.hint(touched)
}

/** Whether the session already shows the same of the last minute: one more would change almost nothing. */
const wasJustTold = ({ code, until }: Reason, told: Reason & { until: string }): boolean =>
  code === told.code && until !== undefined && Date.parse(until) > Date.parse(told.until) - QUIET_MS
