/** A queue of several users' work. The users with work waiting come one after another, however much each of them has. */
export interface TurnQueue<T> {
  add(user: string, item: T): void
  /** @returns whether it was waiting */
  delete(user: string, item: T): boolean
  /** Takes the item whose turn it is; undefined if none is waiting. */
  next(): T | undefined
}

export function createTurnQueue<T>(): TurnQueue<T> {
  /** Items in their order, by user; the user whose turn is next comes first. */
  const waiting = new Map<string, Set<T>>()
  return {
    add(user, item) {
      const own = waiting.get(user)
      if (own) own.add(item)
      else waiting.set(user, new Set([item]))
    },
    delete(user, item) {
      const own = waiting.get(user)
      const isWaiting = own?.delete(item) ?? false
      if (own?.size === 0) waiting.delete(user)
      return isWaiting
    },
    next() {
      const [first] = waiting
      if (!first) return undefined
      const [user, own] = first
      const [item] = own
      if (item !== undefined) own.delete(item)
      waiting.delete(user)
      // The user comes last in the next round.
      if (own.size > 0) waiting.set(user, own)
      return item
    },
  }
}
