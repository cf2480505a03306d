/** Turns between users, for work of which little is done at a time. */
export interface Turns {
  /** Does the work when it is this user's turn. Users with work waiting come one after another, however much each of them has. */
  run<T>(user: string, work: () => T | Promise<T>): Promise<T>
}

/**
 * @param pause begins the next turn: at once by default, so that a turn lasts as long as its work; `setImmediate` leaves room for other events
 *   in between
 */
export function createTurns(pause: (next: () => void) => void = next => next()): Turns {
  const waiting = new Map<string, (() => void)[]>()
  let isTaken = false

  /** Gives the turn to the first user of the round, who comes last in the next one. */
  function next(): void {
    const [entry] = waiting
    if (!entry) {
      isTaken = false
      return
    }
    const [user, begins] = entry
    const begin = begins.shift()
    waiting.delete(user)
    if (begins.length > 0) waiting.set(user, begins)
    begin?.()
  }

  async function take(user: string): Promise<void> {
    if (!isTaken) {
      isTaken = true
      return
    }
    await new Promise<void>(begin => {
      const begins = waiting.get(user)
      if (begins) begins.push(begin)
      else waiting.set(user, [begin])
    })
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
