/** Runs works one after the other, in the order of the calls. A failed work stops none of the later ones. */
export type Mutex = <T>(work: () => Promise<T>) => Promise<T>

export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return work => {
    const turn = last.then(work, work)
    last = turn
    return turn
  }
}

/** A mutex for each key: works of the same key run one after the other, works of other keys beside them. */
export interface KeyedMutex {
  <T>(key: string, work: () => Promise<T>): Promise<T>
  /** Whether a work of this key runs or waits. */
  isBusy(key: string): boolean
}

export function createKeyedMutex(): KeyedMutex {
  /** Last requested turn of each key; a key without a turn is forgotten. */
  const turns = new Map<string, Promise<unknown>>()
  function run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (turns.get(key) ?? Promise.resolve()).then(work, work)
    turns.set(key, turn)
    const done = () => {
      if (turns.get(key) === turn) turns.delete(key)
    }
    turn.then(done, done)
    return turn
  }
  return Object.assign(run, { isBusy: (key: string) => turns.has(key) })
}
