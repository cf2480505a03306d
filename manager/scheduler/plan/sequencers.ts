import { addSlots, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import { Heap } from './heap.ts'
import { type PendingSession, type Sequencer } from './snapshot.ts'

/** First come, first tried; sessions of one instant by id, which sorts by creation. */
export const fifo: Sequencer = {
  reserves: true,
  start: ({ pending }) => fixed(pending.toSorted(byAge)),
}

/** The newest first. Nothing is reserved: who waits longest is not next here. */
export const lifo: Sequencer = {
  reserves: false,
  start: ({ pending }) => fixed(pending.toSorted((a, b) => byAge(b, a))),
}

/**
 * Dominant resource fairness by progressive filling: next is always the oldest session of the user whose dominant share
 * (the largest part of any slot of the group that all the user's sessions hold together, over the user's weight) is
 * least. The share grows with every placement of the same pass.
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
        waiting: sessions.toSorted(byAge),
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
      placed({ requested }) {
        if (!current) return
        current.held = addSlots(current.held, requested)
        current.share = dominantShare(current.held, capacity, current.weight)
      },
    }
  },
}

interface User {
  readonly id: string
  readonly weight: number
  /** Oldest first. */
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
  if (a.share !== b.share) return a.share < b.share
  const [first, second] = [a.waiting[a.at], b.waiting[b.at]]
  return first !== undefined && second !== undefined && byAge(first, second) < 0
}

function fixed(order: readonly PendingSession[]) {
  let at = 0
  return { next: () => order[at++], placed: () => undefined }
}

export function byAge(a: PendingSession, b: PendingSession): number {
  return a.enqueuedAt - b.enqueuedAt || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
