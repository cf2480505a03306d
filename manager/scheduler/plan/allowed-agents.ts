import { type AgentCapacities, fits } from './agent-capacities.ts'
import { mayCross, networked, roomFor } from './gang.ts'
import { hasStorage, keepsIn, runsImage } from './reasons.ts'
import { remembered } from './remembered.ts'
import { needsKey } from './request-keys.ts'
import { type FreeCapacity } from './free-capacity.ts'
import { kindsOf } from './capacity-classes.ts'
import { type AgentSnapshot, type PendingSession } from './snapshot.ts'

/**
 * The agents of a group that may take a session. Most sessions are alike, so the lists are made once for each kind of
 * session; callers use a list itself as the key of their own caches.
 */
export class AllowedAgents {
  readonly open: readonly AgentCapacities[]
  readonly #able = new Map<string, readonly AgentCapacities[]>()
  readonly #fresh = new Map<string, readonly AgentCapacities[]>()
  readonly #empty = new Map<readonly AgentCapacities[], readonly FreeCapacity[]>()

  /** @param open agents on which sessions of the group may start */
  constructor(open: readonly AgentCapacities[]) {
    this.open = open
  }

  /**
   * Agents that may take the session: those that hold its image (or all if the image can be pulled), run images of its architecture, and
   * have the storages of its folders. Agents on which the session failed are left out as long as another one could hold it when empty.
   */
  for(session: PendingSession): readonly AgentCapacities[] {
    const able = this.able(session)
    const { failedAgents } = session
    if (failedAgents.length === 0) return able
    const fresh = remembered(this.#fresh, `${needsKey(session)}|${failedAgents.join()}`, () => {
      const failed = new Set(failedAgents)
      return able.filter(({ agent }) => !failed.has(agent.id))
    })
    return this.couldHold(session, fresh) ? fresh : able
  }

  /** Agents that may take the session, including those on which it failed. */
  able(session: PendingSession): readonly AgentCapacities[] {
    const { onlyOn } = session
    const open = () => (onlyOn === undefined ? this.open : this.open.filter(({ agent }) => agent.id === onlyOn))
    return remembered(this.#able, needsKey(session), () => ableAgents(session, open()))
  }

  /** Whether the session would fit on these agents if nothing ran there. */
  couldHold(session: PendingSession, agents: readonly AgentCapacities[]): boolean {
    if (this.emptyOf(agents).some(empty => fits(empty, session))) return true
    if (!mayCross(session)) return false
    const empty = networked(agents).map(capacities => capacities.empty)
    return roomFor(session, empty) === session.clusterSize
  }

  /** Free capacities of these agents as if nothing ran there, one representative for each set of interchangeable free capacities. */
  emptyOf(agents: readonly AgentCapacities[]): readonly FreeCapacity[] {
    return remembered(this.#empty, agents, () => kindsOf(agents.map(({ empty }) => empty)))
  }
}

/**
 * Whether the agent can run the session's image, has the storages of its folders, and keeps it from the network if need be. An image that no registry offers runs only
 * on agents that hold it: another agent would look it up by name, and find somebody else's image.
 */
export function canRun(agent: AgentSnapshot, session: PendingSession): boolean {
  const { imageDigest: digest, pullable = false } = session
  if (digest === null || !(pullable || agent.images.has(digest))) return false
  return runsImage(agent, session) && hasStorage(agent, session) && keepsIn(agent, session)
}

/** Agents that can run the session: see `canRun`. */
export function ableAgents(session: PendingSession, open: readonly AgentCapacities[]): readonly AgentCapacities[] {
  const able = open.filter(({ agent }) => canRun(agent, session))
  // Return the same list object wherever possible: caches use it as their key.
  return able.length === open.length ? open : able
}
