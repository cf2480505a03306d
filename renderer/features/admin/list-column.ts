import { type CsvValue } from '#base/csv'
import { t } from '../../words/en/admin.ts'

/** A column of a list of administration. */
export interface ListColumn<T> {
  readonly key: string
  readonly label: string
  /** The text of a cell: shown and searched. */
  readonly text: (row: T) => string
  /** The value in an exported file, if it is not the text: a time as ISO 8601, or a plain number. */
  readonly value?: (row: T) => CsvValue
  /** The value to sort by where the page has the whole list, or `text` for the text of the cell. Without it the column does not sort. */
  readonly sort?: 'text' | ((row: T) => string | number)
  /** Set if the server sorts by this column. */
  readonly serverSort?: true
  /** Width in pixels; columns without one share what is left. */
  readonly width?: number
  /** Smallest width of the list, in pixels, at which the column is shown. */
  readonly from?: number
  /** Set if the column is also a line of the card that stands for a row in a narrow list. */
  readonly card?: true
  /** Aligns numbers to the right. */
  readonly numeric?: true
}

/** The column that tells active things from inactive ones. */
export const activeColumn = (width: number): ListColumn<{ readonly active: boolean }> => ({
  key: 'state',
  label: t('state'),
  text: ({ active }) => activeText(active),
  sort: ({ active }) => (active ? 0 : 1),
  width,
  card: true,
})
export const activeText = (active: boolean): string => t(active ? 'active' : 'inactive')

const compare = new Intl.Collator('en', { numeric: true, sensitivity: 'base' }).compare

/** The rows in which every word of the text occurs in some cell, in any letter case. */
export function searchRows<T>(rows: readonly T[], columns: readonly ListColumn<T>[], text: string): readonly T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return rows
  return rows.filter(row => {
    const hay = columns
      .map(column => column.text(row))
      .join('\n')
      .toLowerCase()
    return words.every(word => hay.includes(word))
  })
}

/** The rows in the order of a column; rows with the same value keep their order. */
export function sortRows<T>(
  rows: readonly T[],
  columns: readonly ListColumn<T>[],
  { key, descending }: { readonly key: string; readonly descending: boolean },
): readonly T[] {
  const column = columns.find(one => one.key === key)
  if (!column?.sort) return rows
  const read = column.sort === 'text' ? column.text : column.sort
  const sign = descending ? -1 : 1
  return rows.toSorted((a, b) => {
    const [x, y] = [read(a), read(b)]
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : compare(String(x), String(y)))
  })
}
