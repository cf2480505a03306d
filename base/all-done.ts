/**
 * `Promise.all` that waits for every part, even after a failure: what follows (an undo, the end of a transaction) must not begin while a
 * part is in progress.
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
