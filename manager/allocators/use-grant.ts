import { because, type Reason, reasonOf, type SessionId } from '#manager/contract'
import { commitPlacements } from '../scheduler/commit.ts'
import { PAUSED } from '../scheduler/pause.ts'
import { type PendingSession } from '../scheduler/plan/index.ts'
import { type Store } from '../store/open-store.ts'
import { recordGrant } from '../store/sessions/allocations.ts'
import { type Touched } from '../store/sessions/touches.ts'
import { type Act } from './judge.ts'
import { placementOn } from './place.ts'
import { type ReadWaitingDeps, type WaitingSessions } from './read-waiting.ts'

export interface UseGrantDeps extends ReadWaitingDeps {
  readonly store: Store
  /** Sends create_kernel. */
  readonly start: (id: SessionId) => void
  readonly hint: (touched: readonly Touched[]) => void
  /** A grant on which the session cannot be placed for this long is given back. */
  readonly giveUpMs: number
}

type Place = Extract<Act, { act: 'place' }>

/** Places waiting sessions on their grants and starts them. @returns why the session still waits; undefined once it was placed */
export type UseGrant = (
  act: Place,
  look: { readonly waiting: readonly WaitingSessions[]; readonly isPaused: boolean },
) => Promise<Reason | undefined>

export function createUseGrant({ store, presence, rights, start, hint, giveUpMs }: UseGrantDeps): UseGrant {
  /** A grant that counts as used is released while its session waits, and another one is requested. */
  const giveBack = ({ name, identity }: Place['allocation']) => recordGrant(store.db, name, identity)

  /** @returns why the session was not placed */
  async function place(
    allocation: Place['allocation'],
    session: PendingSession,
    { group, agents, isAble }: WaitingSessions,
  ): Promise<Reason | 'placed'> {
    const ready = agents.filter(({ id }) => presence.isReady(id))
    const found = placementOn(allocation.nodes, session, ready)
    if ('unmatched' in found) {
      if (found.isLasting) await giveBack(allocation)
      return reasonOf('allocation_unplaced', found.unmatched)
    }
    const { agentId, hosts = [agentId] } = found.placement
    const node = allocation.nodes.map(({ name }) => name).join(', ')
    if (!hosts.every(host => isAble(session, host)))
      return reasonOf('allocation_unplaced', because('slurm_host_unable', { node }))
    const placed: Touched[] = []
    const committed = await commitPlacements(store, group.name, [found.placement], {
      presence,
      rights,
      onCommitted(touched) {
        placed.push(...touched)
        hint(touched)
      },
    })
    if (committed.length === 0) return reasonOf('allocation_unplaced', because('slurm_host_full', { node }))
    // Before the start, because the container carries the number of its job.
    await recordGrant(store.db, allocation.name, allocation.identity)
    for (const { id } of placed) start(id)
    return 'placed'
  }

  return async (act, { waiting, isPaused }) => {
    const of = waiting.find(({ startable }) => startable.has(act.id))
    const session = of?.pending.get(act.id)
    const tried = of && session && !isPaused ? await place(act.allocation, session, of) : undefined
    const reason = of && isPaused ? PAUSED : tried
    if (reason === 'placed') return undefined
    if (act.sinceMs >= giveUpMs) await giveBack(act.allocation)
    return reason
  }
}
