/** Serializes work on the same key in the order of the requests; work on other keys runs concurrently. */
export function createTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  /** Last requested turn of each key. */
  const turns = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const turn = Promise.allSettled([turns.get(key)]).then(work)
    turns.set(key, turn)
    const done = () => {
      if (turns.get(key) === turn) turns.delete(key)
    }
    turn.then(done, done)
    return turn
  }
}
