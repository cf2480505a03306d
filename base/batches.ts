export interface BatchOptions<V> {
  /** Largest number of keys of one run. */
  readonly most: number
  /** Finds values by key. `keys` has no duplicates; unknown keys are missing in the result. */
  readonly run: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>
}

/**
 * Finds values by key and batches the calls of many callers: there is one run at a time, and keys requested meanwhile wait for the next
 * run. A flood of calls thus costs few runs, and no caller gets a value that was read before its call.
 *
 * @returns undefined for an unknown key; rejects as its run does
 */
export function createBatches<V>({ most, run }: BatchOptions<V>): (key: string) => Promise<V | undefined> {
  const waiting = new Map<string, PromiseWithResolvers<V | undefined>>()
  let isRunning = false

  async function runAll(): Promise<void> {
    isRunning = true
    while (waiting.size > 0) {
      const batch = [...waiting].slice(0, most)
      for (const [key] of batch) waiting.delete(key)
      try {
        const found = await run(batch.map(([key]) => key))
        for (const [key, { resolve }] of batch) resolve(found.get(key))
      } catch (error) {
        for (const [, { reject }] of batch) reject(error)
      }
    }
    isRunning = false
  }

  return key => {
    const asked = waiting.get(key) ?? Promise.withResolvers<V | undefined>()
    waiting.set(key, asked)
    if (!isRunning) void runAll()
    return asked.promise
  }
}
