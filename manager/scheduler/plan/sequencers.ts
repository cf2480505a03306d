import { addSlots, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import { Heap } from './heap.ts'
import { type GroupSnapshot, type PendingSession, type Sequencer, totalOf } from './snapshot.ts'

/** First come, first tried. Sessions of the same instant sort by id, which follows creation. Priority counts before age. */
export const fifo: Sequencer = {
  reserves: true,
  start: ({ pending }) => fixed(pending.toSorted(byTurn)),
}

/** Newest first. Nothing is reserved: the session that has waited longest is not next here. */
export const lifo: Sequencer = {
  reserves: false,
  start: ({ pending }) => fixed(pending.toSorted((a, b) => byPriority(a, b) || byAge(b, a))),
}

/**
 * Dominant resource fairness by progressive filling: the next session is always the oldest one of the user with the least
 * dominant share. The dominant share is the largest fraction of any slot of the group that the user's sessions hold
 * together, divided by the user's weight. It grows with every placement of the same pass. A session of higher priority
 * goes before all sessions of lower priority, whoever owns them: fairness applies among equal priorities.
 *
 * @see Ghodsi et al., Dominant Resource Fairness, NSDI 2011
 */
export const drf: Sequencer = {
  reserves: true,
  start(snapshot, capacity) {
    const users = new Heap<User>(comesBefore)
    for (const user of usersOf(snapshot, capacity)) users.push(user)
    let current: User | undefined
    return {
      next() {
        if (current && current.at < current.waiting.length) users.push(current)
        current = users.pop()
        return current?.waiting[current.at++]
      },
      placed(session) {
        if (!current) return
        current.held = addSlots(current.held, totalOf(session))
        current.share = dominantShare(current.held, capacity, current.weight)
      },
    }
  },
}

/** A user as DRF compares them. */
export interface User {
  readonly id: string
  readonly weight: number
  /** Highest priority first, then oldest. */
  readonly waiting: readonly PendingSession[]
  at: number
  held: ResourceSlots
  share: number
}

/** Users with what they hold and their waiting sessions. @param ids by default the owners of waiting sessions */
export function usersOf(
  { pending, usage, options }: Pick<GroupSnapshot, 'pending' | 'usage' | 'options'>,
  capacity: ResourceSlots,
  ids?: readonly string[],
): User[] {
  const byOwner = Map.groupBy(pending, session => session.ownerId)
  return [...(ids ?? byOwner.keys())].map(id => {
    const held = usage?.get(id) ?? {}
    const weight = options?.weights?.[id] ?? 1
    const waiting = (byOwner.get(id) ?? []).toSorted(byTurn)
    return { id, held, weight, share: dominantShare(held, capacity, weight), waiting, at: 0 }
  })
}

/** Largest fraction of any slot, divided by the weight. A slot that the group does not have is skipped. */
export function dominantShare(held: ResourceSlots, capacity: ResourceSlots, weight = 1): number {
  let share = 0
  for (const slot of SLOT_NAMES) {
    const all = capacity[slot] ?? 0
    if (all > 0) share = Math.max(share, (held[slot] ?? 0) / all)
  }
  return share / weight
}

/** Whether the next session of `a` is tried before that of `b`. Users without a waiting session are not compared. */
export function comesBefore(a: User, b: User): boolean {
  const [first, second] = [a.waiting[a.at], b.waiting[b.at]]
  if (first === undefined || second === undefined) return false
  const order = byPriority(first, second)
  if (order !== 0) return order < 0
  return a.share === b.share ? byAge(first, second) < 0 : a.share < b.share
}

function fixed(order: readonly PendingSession[]) {
  let at = 0
  return { next: () => order[at++], placed: () => undefined }
}

/** Larger first. */
function byPriority(a: PendingSession, b: PendingSession): number {
  return (b.priority ?? 0) - (a.priority ?? 0)
}

function byTurn(a: PendingSession, b: PendingSession): number {
  return byPriority(a, b) || byAge(a, b)
}

export function byAge(a: PendingSession, b: PendingSession): number {
  return a.enqueuedAt - b.enqueuedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
