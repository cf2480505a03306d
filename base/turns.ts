import { createTurnQueue } from './turn-queue.ts'

/** Turns between users, for work of which little is done at a time. */
export interface Turns {
  /** Does the work when it is this user's turn. Users with waiting work come one after another, however much each of them has. */
  run<T>(user: string, work: () => T | Promise<T>): Promise<T>
}

/**
 * @param pause begins the next turn: at once by default, so that a turn lasts as long as its work; `setImmediate` lets other events happen
 *   in between
 */
export function createTurns(pause: (next: () => void) => void = next => next()): Turns {
  const waiting = createTurnQueue<() => void>()
  let isTaken = false

  function next(): void {
    const begin = waiting.next()
    isTaken = begin !== undefined
    begin?.()
  }

  async function take(user: string): Promise<void> {
    if (isTaken) return new Promise<void>(begin => waiting.add(user, begin))
    isTaken = true
  }

  return {
    async run(user, work) {
      await take(user)
      try {
        return await work()
      } finally {
        pause(next)
      }
    },
  }
}
