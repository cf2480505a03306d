import { type AgentId, isFinished, type Reason } from '#manager/contract'
import { type Log } from '../log.ts'
import { listSessionsOnRevoked } from '../store/sessions/kernels.ts'
import { type Store } from '../store/open-store.ts'
import { type SessionChanges } from './changes.ts'

export interface EndForgottenDeps {
  readonly store: Pick<Store, 'db'>
  readonly changes: SessionChanges
  readonly log: Log
}

/** In one go; what is left, the next one ends. */
const BATCH = 500

/**
 * Ends what agents hold that an admin has forgotten. Safe to repeat: it is asked for by the request that forgets an agent,
 * and again by every sweep of the deadlines, so a manager that dies half way leaves nothing that holds a name or a quota.
 *
 * @param agentId only on this one   @param actor who has forgotten it; the sweep does not know
 */
export async function endForgotten(
  { store, changes, log }: EndForgottenDeps,
  { agentId, actor }: { readonly agentId?: AgentId; readonly actor?: string } = {},
): Promise<void> {
  for (const { sessionId, on, agentName } of await listSessionsOnRevoked(store.db, { agentId, limit: BATCH })) {
    const message = `Agent ${agentName} was removed from this manager; what runs there is not its business any more.`
    const reason: Reason = { code: 'agent_forgotten', message }
    const ending = changes.apply(sessionId, state => {
      // It may have ended, or moved, since it was listed.
      if (state.agentId !== on || isFinished(state.status)) return undefined
      // Never asked for: another agent can take it. Everything else ends here.
      if (state.status === 'SCHEDULED') return { to: 'PENDING', reason: { ...reason, code: 'retried' }, actor }
      return { to: 'TERMINATED', reason, actor }
    })
    await ending.catch((error: unknown) => {
      log.error({ err: error, id: sessionId }, 'a session of a forgotten agent could not be ended; it is tried again')
    })
  }
}
