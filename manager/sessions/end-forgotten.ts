import { type AgentId, because, isFinished, reasonOf } from '#manager/contract'
import { type Log } from '../log.ts'
import { listSessionsOnRevoked } from '../store/sessions/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { type SessionChanges } from './changes.ts'

export interface EndForgottenDeps {
  readonly store: Pick<Store, 'db'>
  readonly changes: SessionChanges
  readonly log: Log
}

/** Most sessions ended per call; the next call ends the rest. */
const BATCH = 500

/**
 * Ends the sessions on agents that an admin has forgotten. Idempotent: called by the request that forgets an agent, and
 * again by every deadline sweep, so a manager that dies half way leaves no session that holds a name or a quota.
 *
 * @param agentId only sessions on this agent
 * @param actor the admin who forgot the agent; unknown to the sweep
 */
export async function endForgotten(
  { store, changes, log }: EndForgottenDeps,
  { agentId, actor }: { readonly agentId?: AgentId; readonly actor?: string } = {},
): Promise<void> {
  for (const { sessionId, on, agentName } of await listSessionsOnRevoked(store.db, { agentId, limit: BATCH })) {
    const reason = reasonOf('agent_forgotten', because('host_removed', { host: agentName }))
    const ending = changes.apply(sessionId, state => {
      // The session may have ended, or moved, since it was listed.
      if (!state.kernels.some(kernel => kernel.agent_id === on) || isFinished(state.status)) return undefined
      // No agent was asked to start a SCHEDULED session, so another agent can take it. All other sessions end here.
      if (state.status === 'SCHEDULED')
        return { to: 'PENDING', failedOn: on, reason: { ...reason, code: 'retried' }, actor }
      // Kernels on other hosts hold their slots there until their agents report that they are gone.
      const isElsewhere = state.kernels.some(kernel => kernel.agent_id !== on)
      return { to: 'TERMINATED', reason, actor, ...(isElsewhere ? { unconfirmed: true } : {}) }
    })
    await ending.catch((error: unknown) => {
      log.error({ err: error, id: sessionId }, 'a session of a forgotten agent could not be ended; it is tried again')
    })
  }
}
