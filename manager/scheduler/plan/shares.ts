import { addSlots, type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { canTake } from './reasons.ts'
import { comesBefore, type User, usersOf } from './sequencers.ts'
import { type GroupSnapshot, type PendingSession } from './snapshot.ts'

/** Capacity of the whole group, of which shares are fractions: all agents that can take sessions now. */
export function openCapacity({ active, agents, options }: GroupSnapshot): ResourceSlots {
  if (active === false) return {}
  return agents
    .filter(agent => canTake(agent, options))
    .reduce<ResourceSlots>((sum, { capacity }) => addSlots(sum, capacity), {})
}

/** Figures of one user that DRF compares. */
export interface UserShare {
  readonly id: string
  readonly held: ResourceSlots
  /** The slot of which the user holds the largest fraction; null while they hold nothing that the group has. */
  readonly dominant: SlotName | null
  /** The user's fraction of that slot, 0 to 1 (more if agents have left). */
  readonly fraction: number
  readonly weight: number
  /** `fraction` divided by `weight`: the smallest is next. */
  readonly share: number
  readonly waiting: number
  /** The session that is tried when it is the user's turn. */
  readonly next: PendingSession | undefined
  /** Reason why the user comes before the next: the priority of their sessions, their share, or the age of their sessions. */
  readonly because: 'priority' | 'share' | 'age' | null
}

/**
 * The users of a group in the order in which DRF tries their first sessions, then those who hold something and wait for nothing,
 * largest share first. As things are now: each placement changes the shares.
 */
export function explainShares(snapshot: GroupSnapshot): readonly UserShare[] {
  const { usage } = snapshot
  const capacity = openCapacity(snapshot)
  const waiting = usersOf(snapshot, capacity).sort((a, b) => (comesBefore(a, b) ? -1 : 1))
  const waits = new Set(waiting.map(({ id }) => id))
  const idle = usersOf(
    { ...snapshot, pending: [] },
    capacity,
    [...(usage?.keys() ?? [])].filter(id => !waits.has(id)),
  ).sort((a, b) => b.share - a.share || (a.id < b.id ? -1 : 1))
  return [
    ...waiting.map((user, at) => toShare(user, capacity, waiting[at + 1])),
    ...idle.map(user => toShare(user, capacity)),
  ]
}

function toShare({ id, held, weight, share, waiting }: User, capacity: ResourceSlots, after?: User): UserShare {
  const fractionOf = (slot: SlotName) => (capacity[slot] ? (held[slot] ?? 0) / capacity[slot] : 0)
  const dominant = SLOT_NAMES.reduce((most, slot) => (fractionOf(slot) > fractionOf(most) ? slot : most))
  const fraction = fractionOf(dominant)
  const [next] = waiting
  return {
    id,
    held,
    dominant: fraction > 0 ? dominant : null,
    fraction,
    weight,
    share,
    waiting: waiting.length,
    next,
    because: after === undefined ? null : whatDecides({ share, next }, after),
  }
}

function whatDecides(first: { share: number; next: PendingSession | undefined }, after: User): UserShare['because'] {
  if ((first.next?.priority ?? 0) !== (after.waiting[0]?.priority ?? 0)) return 'priority'
  return first.share === after.share ? 'age' : 'share'
}
