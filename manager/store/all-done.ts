/**
 * `Promise.all` that waits for every part, even after a failure. For statements of one transaction: a transaction that is rolled back
 * gives its connection back, and a statement that still waits for its turn would then run in the next one's transaction.
 */
export async function allDone<T extends readonly unknown[]>(parts: {
  readonly [K in keyof T]: Promise<T[K]>
}): Promise<T> {
  const all = Promise.all(parts)
  await Promise.allSettled([...parts, all])
  return all
}
