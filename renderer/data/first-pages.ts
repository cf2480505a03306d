/** The largest page that the manager sends. */
const LARGEST_PAGE = 500

/** A part of a list that the manager sends page by page. */
interface ListPart {
  readonly items: readonly unknown[]
  readonly nextCursor: string | null
}

/**
 * The first items of a list that the manager sends page by page, for pages that show more of it step by step.
 *
 * @param wanted how many, or all if there are fewer
 * @returns the last answer, with the items of all
 */
export async function firstPages<P extends ListPart>(
  wanted: number,
  ask: (page: { readonly limit: number; readonly cursor: string | undefined }) => Promise<P>,
): Promise<P> {
  const items: P['items'][number][] = []
  let cursor: string | undefined
  for (;;) {
    const answer = await ask({ limit: Math.min(LARGEST_PAGE, wanted - items.length), cursor })
    items.push(...answer.items)
    if (answer.nextCursor === null || items.length >= wanted) return { ...answer, items }
    cursor = answer.nextCursor
  }
}
