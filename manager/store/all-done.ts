/**
 * `Promise.all` that waits for every part, even after a failure. For statements of one transaction: a transaction that is rolled back
 * gives its connection back, and a statement that still waits for its turn would then run in the next one's transaction.
 *
 * @throws the failure of the first part, in the order of the list, that failed
 */
export async function allDone<T extends readonly unknown[]>(parts: {
  readonly [K in keyof T]: Promise<T[K]>
}): Promise<T> {
  const outcomes = await Promise.allSettled(parts)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  return Promise.all(parts)
}
