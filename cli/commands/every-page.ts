/** All items of a paginated list. */
export async function everyPage<T>(
  page: (cursor: { cursor?: string; limit: number }) => Promise<{ items: T[]; nextCursor: string | null }>,
): Promise<T[]> {
  const all: T[] = []
  for (let cursor: string | null | undefined; ;) {
    const { items, nextCursor } = await page({ limit: 500, ...(cursor ? { cursor } : {}) })
    all.push(...items)
    if (!nextCursor) return all
    cursor = nextCursor
  }
}
