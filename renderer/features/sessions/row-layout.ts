import { rowHeightOf } from '../../ui/density.ts'

/** The layout of a row: columns of a table, a card with two columns, or a card for a phone. */
export type RowLayout = 'rows' | 'wide-cards' | 'slim-cards'

const OWNER_LINE = 18
/** Row heights in pixels. Everything in a row is laid out for exactly this height, so that long lists can be virtual. */
const HEIGHTS: Readonly<Record<RowLayout, number>> = { rows: 62, 'wide-cards': 124, 'slim-cards': 166 }
const COMPACT_ROW = 46
/** Height of rows whose owner stands below the image, under a name that may take two lines. */
const OWNER_ROW = 74
/** Lists of this width and more have a column of owners (`ui/table.css`). */
const OWNER_COLUMN = 1274

/** @param width of the list in pixels, not of the window: the details of a session may stand beside the list */
export function layoutFor(width: number): RowLayout {
  if (width >= 860) return 'rows'
  return width >= 540 ? 'wide-cards' : 'slim-cards'
}

/** @param width of the list in pixels */
export function heightOf(layout: RowLayout, showOwner: boolean, width: number): number {
  if (layout === 'rows') return rowHeightOf(showOwner && width < OWNER_COLUMN ? OWNER_ROW : HEIGHTS.rows, COMPACT_ROW)
  return HEIGHTS[layout] + (showOwner && layout === 'slim-cards' ? OWNER_LINE : 0)
}
