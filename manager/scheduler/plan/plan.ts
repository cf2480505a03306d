import { addSlots, type Reason, type ResourceSlots, type SessionId } from '#manager/contract'
import { canTake, explain } from './reasons.ts'
import { Room } from './room.ts'
import { type Selector } from './selectors.ts'
import { type GroupSnapshot, type PendingSession, type Placement, type Plan, type Sequencer } from './snapshot.ts'

/**
 * Decides which pending sessions of one resource group start now, where, and on which devices, and says why the others
 * wait. Pure and deterministic.
 *
 * A session that does not fit blocks nobody behind it (backfill). Work-conserving: no session that stays pending would
 * fit into what is free after the plan, on an agent that it may use. Room only shrinks during a pass, so one attempt
 * per session is enough, and a request equal to one that failed is not tried again.
 */
export function plan(snapshot: GroupSnapshot, sequencer: Sequencer, selector: Selector): Plan {
  const agents = snapshot.agents.map(agent => ({
    now: new Room(agent),
    before: new Room(agent),
    empty: new Room(agent, 'empty'),
  }))
  const empty = agents.map(agent => agent.empty)
  const open = agents.filter(({ now }) => canTake(now.agent))
  const capacity = open.reduce<ResourceSlots>((sum, { now }) => addSlots(sum, now.agent.capacity), {})

  const placements: Placement[] = []
  const reasons = new Map<SessionId, Reason>()
  const queue: SessionId[] = []
  // Requests are alike more often than not: what was found out about one holds for its equals.
  const explained = new Map<string, Reason>()
  const allowedFor = new Map<string, readonly Rooms[]>()
  for (const session of sequencer(snapshot.pending)) {
    const { requested } = session
    const key = requestKey(session)
    const known = explained.get(key)
    const allowed = allowedFor.get(key) ?? allowedAgents(session, open)
    allowedFor.set(key, allowed)
    const candidates = known ? [] : allowed.map(agent => agent.now).filter(room => room.fits(requested))
    if (candidates.length > 0) {
      const room = selector(session, candidates, capacity)
      placements.push({ sessionId: session.id, agentId: room.agent.id, requested, devices: room.take(requested) })
      continue
    }
    const reason =
      known ??
      explain({
        session,
        empty,
        rooms: allowed.map(agent => agent.now),
        fittedBefore: allowed.some(agent => agent.before.fits(requested)),
      })
    explained.set(key, reason)
    reasons.set(session.id, reason)
    queue.push(session.id)
  }
  return { placements, reasons, queue }
}

/** One agent: what is free on it now, what was free before this pass, and what would be if nothing ran there. */
interface Rooms {
  readonly now: Room
  readonly before: Room
  readonly empty: Room
}

/**
 * Agents that may take the session: none where no open agent holds its image; without those on which it failed, as long
 * as another one could hold it when empty.
 */
function allowedAgents(session: PendingSession, open: readonly Rooms[]): readonly Rooms[] {
  const digest = session.imageDigest
  if (digest === null || !open.some(({ now }) => now.agent.images.has(digest))) return []
  const failed = new Set(session.failedAgents)
  const fresh = open.filter(({ now }) => !failed.has(now.agent.id))
  const useFresh = failed.size > 0 && fresh.some(agent => agent.empty.fits(session.requested))
  return useFresh ? fresh : open
}

/** Requests with the same key fit or fail alike. */
function requestKey({ requested, imageDigest, image, failedAgents }: PendingSession): string {
  return JSON.stringify([
    requested.cpu,
    requested.mem,
    requested['cuda.device'],
    requested['cuda.shares'],
    imageDigest,
    image,
    failedAgents,
  ])
}
