export type CsvValue = string | number | null
/** A column of a file: times as ISO 8601, amounts as plain numbers, so that programs read them. */
export interface CsvColumn<T> {
  readonly label: string
  readonly value: (row: T) => CsvValue
}

/**
 * A table as CSV (RFC 4180), with a byte order mark, without which Excel takes UTF-8 for something else. A text that a
 * spreadsheet would run as a formula gets an apostrophe: names of sessions are chosen by other people.
 */
export function csvOf(rows: readonly (readonly CsvValue[])[]): string {
  return `\uFEFF${csvLines(rows)}`
}

/** Lines to put behind a beginning of `csvOf`. */
export function csvLines(rows: readonly (readonly CsvValue[])[]): string {
  return rows.map(row => `${row.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(value: CsvValue): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
