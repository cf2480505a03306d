import { type AgentId, because, type Because, type KernelId, type Reason, reasonOf } from '#manager/contract'
import { type SessionChanges } from '../sessions/changes.ts'
import { PREPARING } from '../sessions/lifecycle/start.ts'
import { isStarting } from '../sessions/transition.ts'
import { findAgent } from '../store/agents/agents.ts'
import { extendStartBy } from '../store/sessions/kernels.ts'
import { type LiveStats } from '../stats/live.ts'
import { type Store } from '../store/open-store.ts'
import { findSession } from '../store/sessions/sessions.ts'
import { updateReasons } from '../store/sessions/touches.ts'
import { type Action } from './reconcile.ts'

type Phase = Extract<Action, { do: 'phase' }>

export interface PhasesDeps {
  readonly store: Store
  readonly changes: SessionChanges
  /** How long an agent may take to start a container once its turn has come, including the time for its reply. */
  readonly prepareWithinMs: number
  /** The attempt of each kernel for which its agent last reported that it pulls the image. */
  readonly pulling: Map<KernelId, number>
  readonly live: Pick<LiveStats, 'setWaiting' | 'sinceWaitingMs'>
}

/** Follows the phase of kernels that their agents start: whether each waits for its turn, pulls its image, or is prepared. */
export function createPhases(deps: PhasesDeps) {
  const { store, changes } = deps

  function notePhase({ kernelId, attempt, phase }: Phase): void {
    if (phase === 'pulling') deps.pulling.set(kernelId, attempt)
    else deps.pulling.delete(kernelId)
  }

  /** Updates the session's status: it is PULLING while any of its kernels pulls. */
  async function setPhase({ sessionId, kernelId, attempt, phase }: Phase): Promise<void> {
    await changes.apply(sessionId, state => {
      if (state.attempt !== attempt || !isStarting(state.status)) {
        // The start is over already, so nothing would remove this entry later.
        if (deps.pulling.get(kernelId) === attempt) deps.pulling.delete(kernelId)
        return undefined
      }
      if (phase === 'pulling' && state.status === 'PREPARING') {
        return { to: 'PULLING', reason: { code: 'image_missing', message: 'The host is pulling the image.' } }
      }
      const pulls = state.kernels.some(({ id, status }) => isStarting(status) && deps.pulling.get(id) === attempt)
      if (phase === 'preparing' && state.status === 'PULLING' && !pulls) {
        return { to: 'PREPARING', reason: { code: 'image_pulled', message: 'The image is on the host.' } }
      }
      return undefined
    })
  }

  /** Shows in the session how many starts are ahead of its own, and keeps its deadline from running meanwhile. */
  async function noteTurn(agentId: AgentId, action: Phase): Promise<void> {
    const { sessionId, kernelId, attempt, ahead } = action
    const waited = deps.live.sinceWaitingMs([kernelId]) !== undefined
    if (ahead === undefined && !waited) return
    const session = await findSession(store.db, sessionId)
    if (session?.status !== 'PREPARING' || session.attempt !== attempt) return
    if (ahead !== undefined) {
      deps.live.setWaiting(kernelId)
      // The agent gives the start up within this time after it knows that the report was processed.
      await extendStartBy(store.db, kernelId, deps.prepareWithinMs)
    }
    const reason: Reason =
      ahead === undefined
        ? { code: 'create_sent', message: PREPARING }
        : reasonOf('starting_soon', waitsFor(ahead, (await findAgent(store.db, agentId))?.name))
    if (session.reason.message === reason.message) return
    changes.hint(await updateReasons(store.db, 'PREPARING', new Map([[sessionId, reason]])))
  }

  return { notePhase, setPhase, noteTurn }
}

function waitsFor(ahead: number, host = 'its host'): Because {
  return ahead === 0 ? because('docker_is_busy', { host }) : because('starts_after_others', { count: ahead, host })
}
