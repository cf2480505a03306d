import { addSlots, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import { Heap } from './heap.ts'
import { byAge, byPriority, byTurn } from './sequencers.ts'
import { type GroupSnapshot, type Holding, type PendingSession, type Sequencer, totalOf } from './snapshot.ts'

/**
 * Dominant resource fairness by progressive filling: the next session is always the oldest one of the user with the least dominant share.
 * The dominant share is the largest fraction of any slot of the group that the user's sessions hold together, divided by the user's weight.
 * It grows with every placement of the same pass. A session of higher priority goes before all sessions of lower priority, whoever owns
 * them: fairness applies only among equal priorities.
 *
 * If projects have weights, projects share the group in the same way, and the users of a project divide its share: a user of two projects
 * has a share in each.
 *
 * @see Ghodsi et al., Dominant Resource Fairness, NSDI 2011; Bhattacharya et al., Hierarchical Scheduling for Diverse Datacenter Workloads,
 *   SoCC 2013
 */
export const drf: Sequencer = {
  reserves: true,
  start(snapshot, capacity) {
    // A heap of users for each project. A placement changes one user and one project, which are taken out of the heaps meanwhile.
    const projects = new Heap<Heap<Account>>((a, b) => comesBefore(a.peek() as Account, b.peek() as Account))
    const waiting = accountsOf(snapshot, capacity).filter(account => account.waiting.length > 0)
    for (const accounts of Map.groupBy(waiting, ({ project }) => project).values()) {
      const heap = new Heap(comesBefore)
      for (const account of accounts) heap.push(account)
      projects.push(heap)
    }
    let project: Heap<Account> | undefined
    let current: Account | undefined
    return {
      next() {
        if (current && current.at < current.waiting.length) project?.push(current)
        if (project?.peek()) projects.push(project)
        project = projects.pop()
        current = project?.pop()
        return current?.waiting[current.at++]
      },
      placed(session) {
        if (!current) return
        for (const holder of [current, current.project]) {
          holder.held = addSlots(holder.held, totalOf(session))
          holder.share = dominantShare(holder.held, capacity, holder.weight)
        }
      },
    }
  },
}

/** A user, or a project, with its share. */
export interface Holder {
  readonly weight: number
  held: ResourceSlots
  share: number
}

/** Users of a project, whose share is compared first. */
interface Project extends Holder {
  /** Null if projects do not count: then all users are in this one. */
  readonly id: string | null
}

/** A user as DRF compares them; if projects count, a user in one project. */
export interface Account extends Holder {
  readonly userId: string
  readonly project: Project
  /** Highest priority first, then oldest. */
  readonly waiting: readonly PendingSession[]
  at: number
}

/** All users who hold something or have waiting sessions. */
export function accountsOf(
  { pending, usage = [], options }: Pick<GroupSnapshot, 'pending' | 'usage' | 'options'>,
  capacity: ResourceSlots,
): Account[] {
  const weights = options?.projectWeights
  const projectOf = (of: Pick<Holding, 'projectId'>) => (weights === undefined ? null : (of.projectId ?? ''))
  const waiting = Map.groupBy(pending, session => projectOf(session))
  const held = Map.groupBy(usage, holding => projectOf(holding))
  return [...new Set([...waiting.keys(), ...held.keys()])].flatMap(id => {
    const holder = (holdings: readonly Holding[], weight = 1): Holder => {
      const sum = holdings.map(({ slots }) => slots).reduce(addSlots, {})
      return { weight, held: sum, share: dominantShare(sum, capacity, weight) }
    }
    const project: Project = { id, ...holder(held.get(id) ?? [], weights?.[id ?? '']) }
    const ofOwner = Map.groupBy(waiting.get(id) ?? [], ({ ownerId }) => ownerId)
    const heldBy = Map.groupBy(held.get(id) ?? [], ({ ownerId }) => ownerId)
    return [...new Set([...ofOwner.keys(), ...heldBy.keys()])].map(userId => ({
      userId,
      project,
      ...holder(heldBy.get(userId) ?? [], options?.weights?.[userId]),
      waiting: (ofOwner.get(userId) ?? []).toSorted(byTurn),
      at: 0,
    }))
  })
}

/** Largest fraction of any slot, divided by the weight. Slots that the group does not have are skipped. */
export function dominantShare(held: ResourceSlots, capacity: ResourceSlots, weight = 1): number {
  let share = 0
  for (const slot of SLOT_NAMES) {
    const all = capacity[slot] ?? 0
    if (all > 0) share = Math.max(share, (held[slot] ?? 0) / all)
  }
  return share / weight
}

/** Whether the next session of `a` is tried before that of `b`. Users without a waiting session are not compared. */
export function comesBefore(a: Account, b: Account): boolean {
  const [first, second] = [a.waiting[a.at], b.waiting[b.at]]
  if (first === undefined || second === undefined) return false
  const order = byPriority(first, second) || a.project.share - b.project.share || a.share - b.share
  return (order || byAge(first, second)) < 0
}
