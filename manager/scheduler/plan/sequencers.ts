import { addSlots, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import { Heap } from './heap.ts'
import { type PendingSession, type Sequencer, totalOf } from './snapshot.ts'

/** First come, first tried; sessions of one instant by id, which sorts by creation. Priority counts before age. */
export const fifo: Sequencer = {
  reserves: true,
  start: ({ pending }) => fixed(pending.toSorted(byTurn)),
}

/** The newest first. Nothing is reserved: who waits longest is not next here. */
export const lifo: Sequencer = {
  reserves: false,
  start: ({ pending }) => fixed(pending.toSorted((a, b) => byPriority(a, b) || byAge(b, a))),
}

/**
 * Dominant resource fairness by progressive filling: next is always the oldest session of the user whose dominant share
 * (the largest part of any slot of the group that all the user's sessions hold together, over the user's weight) is
 * least. The share grows with every placement of the same pass. A session of a higher priority goes before all of a
 * lower one, whoever asks: fairness is kept among equals.
 *
 * @see Ghodsi et al., Dominant Resource Fairness, NSDI 2011
 */
export const drf: Sequencer = {
  reserves: true,
  start({ pending, usage, options }, capacity) {
    const users = new Heap<User>(comesBefore)
    const byOwner = Map.groupBy(pending, session => session.ownerId)
    for (const [id, sessions] of byOwner) {
      const held = usage?.get(id) ?? {}
      const weight = options?.weights?.[id] ?? 1
      users.push({
        id,
        held,
        weight,
        share: dominantShare(held, capacity, weight),
        waiting: sessions.toSorted(byTurn),
        at: 0,
      })
    }
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

interface User {
  readonly id: string
  readonly weight: number
  /** Highest priority first, then oldest. */
  readonly waiting: readonly PendingSession[]
  at: number
  held: ResourceSlots
  share: number
}

/** The largest part of any slot. Of a slot that the group does not have there is no part. */
export function dominantShare(held: ResourceSlots, capacity: ResourceSlots, weight = 1): number {
  let share = 0
  for (const slot of SLOT_NAMES) {
    const all = capacity[slot] ?? 0
    if (all > 0) share = Math.max(share, (held[slot] ?? 0) / all)
  }
  return share / weight
}

function comesBefore(a: User, b: User): boolean {
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
