/** Work on the same thing takes turns, in the order in which it was asked for; work on others goes on beside. */
export function createTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  /** The last that was asked for. */
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
