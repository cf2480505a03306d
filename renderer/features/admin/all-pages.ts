/** All pages of a list that the server sends page by page; pages are not kept. */
export async function* allPages<T>(
  ask: (cursor: string | undefined) => Promise<{ readonly items: readonly T[]; readonly nextCursor: string | null }>,
): AsyncIterable<readonly T[]> {
  let next: string | undefined
  do {
    const { items, nextCursor } = await ask(next)
    yield items
    next = nextCursor ?? undefined
  } while (next !== undefined)
}
