import { addSlots, type Reason, type ResourceSlots, type SessionId } from '#manager/contract'
import { canTake, explain } from './reasons.ts'
import { Room } from './room.ts'
import { type Selector } from './selectors.ts'
import {
  type AgentSnapshot,
  type GroupSnapshot,
  type PendingSession,
  type Placement,
  type Plan,
  type Sequencer,
} from './snapshot.ts'

/**
 * Decides which pending sessions of one resource group start now, where, and on which devices, and says why the others
 * wait. Pure and deterministic.
 *
 * A session that does not fit blocks nobody behind it (backfill). Work-conserving: no session that stays pending would
 * fit into what is free after the plan, on an agent that it may use. Room only shrinks during a pass, so one attempt
 * per session is enough, and a request equal to one that failed is not tried again.
 */
export function plan(snapshot: GroupSnapshot, sequencer: Sequencer, selector: Selector): Plan {
  const open = snapshot.agents.filter(canTake)
  const rooms = open.map(agent => new Room(agent))
  const before = open.map(agent => new Room(agent))
  const empty = snapshot.agents.map(agent => new Room(agent, 'empty'))
  const openEmpty = empty.filter(room => canTake(room.agent))
  const capacity = open.reduce<ResourceSlots>((sum, agent) => addSlots(sum, agent.capacity), {})

  const placements: Placement[] = []
  const reasons = new Map<SessionId, Reason>()
  const queue: SessionId[] = []
  // Requests are alike more often than not: what was found out about one holds for its equals.
  const explained = new Map<string, Reason>()
  const allowedFor = new Map<string, ReadonlySet<AgentSnapshot>>()
  for (const session of sequencer(snapshot.pending)) {
    const key = requestKey(session)
    const known = explained.get(key)
    const allowed = allowedFor.get(key) ?? allowedAgents(session, openEmpty)
    allowedFor.set(key, allowed)
    const room = known ? undefined : choose(session, rooms, { allowed, selector, capacity })
    if (room) {
      const devices = room.take(session.requested)
      placements.push({ sessionId: session.id, agentId: room.agent.id, requested: session.requested, devices })
      continue
    }
    const reason = known ?? explainWaiting(session, { empty, rooms, before, allowed })
    explained.set(key, reason)
    reasons.set(session.id, reason)
    queue.push(session.id)
  }
  return { placements, reasons, queue }
}

interface Choice {
  readonly allowed: ReadonlySet<AgentSnapshot>
  readonly selector: Selector
  readonly capacity: ResourceSlots
}

function choose(session: PendingSession, rooms: readonly Room[], { allowed, selector, capacity }: Choice) {
  const candidates = rooms.filter(room => room.fits(session.requested) && allowed.has(room.agent))
  return candidates.length === 0 ? undefined : selector(session, candidates, capacity)
}

/**
 * Agents that may take the session: none where no open agent holds its image; without those on which it failed, as long
 * as another one could hold it when empty.
 */
function allowedAgents(session: PendingSession, empty: readonly Room[]): ReadonlySet<AgentSnapshot> {
  const digest = session.imageDigest
  if (digest === null || !empty.some(room => room.agent.images.has(digest))) return new Set()
  const failed = new Set(session.failedAgents)
  const fresh = empty.filter(room => !failed.has(room.agent.id))
  const useFresh = failed.size > 0 && fresh.some(room => room.fits(session.requested))
  return new Set((useFresh ? fresh : empty).map(room => room.agent))
}

interface Waiting {
  readonly empty: readonly Room[]
  readonly rooms: readonly Room[]
  readonly before: readonly Room[]
  readonly allowed: ReadonlySet<AgentSnapshot>
}

function explainWaiting(session: PendingSession, { empty, rooms, before, allowed }: Waiting): Reason {
  const mayUse = (room: Room) => allowed.has(room.agent)
  return explain({
    session,
    empty,
    rooms: rooms.filter(mayUse),
    fittedBefore: before.some(room => mayUse(room) && room.fits(session.requested)),
  })
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
