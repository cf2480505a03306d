import { type ListSort } from './list-sort.ts'

/** The head of a column of `DataTable`. */
export interface TableHead<Key extends string = string> {
  readonly key: string
  readonly label: string
  /** Key by which a press of the head sorts; left out: the column does not sort. */
  readonly sort?: Key
  /** True if the first press sorts in descending order: for times, so that the newest come first. */
  readonly fallsFirst?: boolean
  readonly class?: string
  /** Width in pixels, unless a style sheet sets it. */
  readonly width?: number
}

/** How a table is laid out at its width. */
export interface TableLayout<Key extends string = string> {
  /** Heads of the columns; for cards, the sortable ones form a strip above the cards. */
  readonly heads: readonly TableHead<Key>[]
  /** Height of each row in pixels. */
  readonly rowHeight: number
  /** True if rows are cards. */
  readonly cards: boolean
  /** Further classes of the table. */
  readonly classes: readonly string[]
}

/** The order after a press of a head: by another column, or reversed. */
export function pressed<Key extends string>(sort: ListSort<Key>, head: TableHead<Key>): ListSort<Key> {
  if (head.sort === undefined) return sort
  const isSame = sort.key === head.sort
  return { key: head.sort, descending: isSame ? !sort.descending : head.fallsFirst === true }
}

/**
 * The selection after a press of the checkbox of a row.
 * @param anchor key of the row that was pressed before: all rows between the two get the same state; if it is null or gone, only this row
 *   changes
 */
export function withPicked<Id extends string>(
  selected: ReadonlySet<Id>,
  keys: readonly Id[],
  { key, anchor }: { readonly key: Id; readonly anchor: Id | null },
): ReadonlySet<Id> {
  const next = new Set(selected)
  const on = !selected.has(key)
  const from = anchor === null ? -1 : keys.indexOf(anchor)
  const to = keys.indexOf(key)
  for (const one of from === -1 ? [key] : keys.slice(Math.min(from, to), Math.max(from, to) + 1)) {
    if (on) next.add(one)
    else next.delete(one)
  }
  return next
}
