interface Page<T> {
  readonly items: T[]
  readonly nextCursor: string | null
}
interface PageQuery {
  readonly cursor?: string
  readonly limit: number
}

/** The pages of a paginated list: at least one, which may be empty. */
export async function allPages<P extends Page<unknown>>(ask: (query: PageQuery) => Promise<P>): Promise<[P, ...P[]]> {
  const first = await ask({ limit: 500 })
  const pages: [P, ...P[]] = [first]
  for (let cursor = first.nextCursor; cursor; cursor = pages.at(-1)?.nextCursor ?? null) {
    pages.push(await ask({ limit: 500, cursor }))
  }
  return pages
}

/** All items of a paginated list. */
export async function everyPage<T>(ask: (query: PageQuery) => Promise<Page<T>>): Promise<T[]> {
  const pages = await allPages(ask)
  return pages.flatMap(({ items }) => items)
}
