/**
 * Runs one thing at a time for all who ask: a call that comes while it runs gets the same result. The next call after its end runs it
 * again, also after a failure.
 */
export function shareRuns<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
}
