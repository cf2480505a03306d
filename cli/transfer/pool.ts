/** Runs a bounded number of tasks at a time. */
export interface Pool {
  /** Waits for a place and starts the task. @throws the first error of an earlier task */
  add(task: () => Promise<void>): Promise<void>
  /** Waits for all tasks. @throws the first error of a task */
  settle(): Promise<void>
}

export function createPool(most: number): Pool {
  const running = new Set<Promise<void>>()
  let failed: { readonly error: unknown } | undefined
  const rethrow = async () => {
    if (!failed) return
    await Promise.all(running)
    throw failed.error
  }
  return {
    async add(task) {
      while (running.size >= most && !failed) await Promise.race(running)
      await rethrow()
      const one = task()
        .catch((error: unknown) => void (failed ??= { error }))
        .finally(() => running.delete(one))
      running.add(one)
    },
    async settle() {
      await Promise.all(running)
      await rethrow()
    },
  }
}
