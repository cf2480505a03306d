import { addSlots, type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { type Account, accountsOf, comesBefore, type Holder } from './drf.ts'
import { canTake } from './reasons.ts'
import { type GroupSnapshot, type PendingSession } from './snapshot.ts'

/** Capacity of the whole group, on which shares are based: all agents that can take sessions now. */
export function openCapacity({ active, agents, options }: GroupSnapshot): ResourceSlots {
  if (active === false) return {}
  return agents
    .filter(agent => canTake(agent, options))
    .reduce<ResourceSlots>((sum, { capacity }) => addSlots(sum, capacity), {})
}

/** The share of a user or of a project. */
export interface Share {
  readonly held: ResourceSlots
  /** The slot of which the holder has the largest fraction; null if they hold nothing that the group has. */
  readonly dominant: SlotName | null
  /** The fraction of that slot, 0 to 1 (more if agents have left). */
  readonly fraction: number
  readonly weight: number
  /** `fraction` divided by `weight`: the smallest is next. */
  readonly share: number
}

/** Figures of one user that DRF compares; if projects have weights, of a user in one project. */
export interface UserShare extends Share {
  readonly id: string
  /** The project, whose share is compared before its users'; null if projects have no weights. */
  readonly project: (Share & { readonly id: string }) | null
  readonly waiting: number
  /** The session that is tried at the user's turn. */
  readonly next: PendingSession | undefined
  /** Why the user comes before the next one: priority of their sessions, share of the project, own share, or age of their sessions. */
  readonly because: 'priority' | 'project' | 'share' | 'age' | null
}

/**
 * The users of a group in the order in which DRF tries their first sessions, followed by users who hold something but have no waiting
 * sessions, largest share first. Valid for now only, because each placement changes the shares.
 */
export function explainShares(snapshot: GroupSnapshot): readonly UserShare[] {
  const capacity = openCapacity(snapshot)
  const [idle, waiting] = [[], []] as [Account[], Account[]]
  for (const account of accountsOf(snapshot, capacity)) (account.waiting.length > 0 ? waiting : idle).push(account)
  waiting.sort((a, b) => (comesBefore(a, b) ? -1 : 1))
  idle.sort((a, b) => b.share - a.share || (a.userId < b.userId ? -1 : 1))
  return [
    ...waiting.map((account, at) => toUserShare(account, capacity, waiting[at + 1])),
    ...idle.map(account => toUserShare(account, capacity)),
  ]
}

function toUserShare(account: Account, capacity: ResourceSlots, after?: Account): UserShare {
  const { userId, project, waiting } = account
  return {
    id: userId,
    ...toShare(account, capacity),
    project: project.id === null ? null : { id: project.id, ...toShare(project, capacity) },
    waiting: waiting.length,
    next: waiting[0],
    because: after === undefined ? null : whatDecides(account, after),
  }
}

function toShare({ held, weight, share }: Holder, capacity: ResourceSlots): Share {
  const fractionOf = (slot: SlotName) => (capacity[slot] ? (held[slot] ?? 0) / capacity[slot] : 0)
  const dominant = SLOT_NAMES.reduce((most, slot) => (fractionOf(slot) > fractionOf(most) ? slot : most))
  const fraction = fractionOf(dominant)
  return { held, dominant: fraction > 0 ? dominant : null, fraction, weight, share }
}

function whatDecides(first: Account, after: Account): UserShare['because'] {
  if ((first.waiting[0]?.priority ?? 0) !== (after.waiting[0]?.priority ?? 0)) return 'priority'
  if (first.project.share !== after.project.share) return 'project'
  return first.share === after.share ? 'age' : 'share'
}
