export interface BatchOptions<V> {
  /** Keys of one run. */
  readonly most: number
  /** Finds the values of some keys, each of which is named once; unknown ones are left out. */
  readonly run: (keys: readonly string[]) => Promise<ReadonlyMap<string, V>>
}

/**
 * Finds values by keys, of many callers together: one run at a time, and what is asked meanwhile waits for the next one. So a flood of
 * questions costs few runs, and nobody gets a value that was read before they asked.
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
