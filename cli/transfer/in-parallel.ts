/** Runs the work for each item, a bounded number at a time; stops at the first error. */
export async function inParallel<T>(
  items: AsyncIterable<T> | Iterable<T>,
  most: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  let failed: { readonly error: unknown } | undefined
  for await (const item of items) {
    if (failed) break
    const one = work(item)
      .catch((error: unknown) => void (failed ??= { error }))
      .finally(() => running.delete(one))
    running.add(one)
    if (running.size >= most) await Promise.race(running)
  }
  await Promise.all(running)
  if (failed) throw failed.error
}
