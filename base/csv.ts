export type CsvValue = string | number | null
/** A column of a file: times as ISO 8601, amounts as plain numbers, so that programs read them. */
export interface CsvColumn<T> {
  readonly label: string
  readonly value: (row: T) => CsvValue
}

/** A table as CSV (RFC 4180) for a spreadsheet: with a byte order mark, without which Excel takes UTF-8 for something else. */
export function csvOf(rows: readonly (readonly CsvValue[])[]): string {
  return `\uFEFF${csvLines(rows)}`
}

/** Lines of CSV, each with its end of line. */
export function csvLines(rows: readonly (readonly CsvValue[])[]): string {
  return rows.map(row => `${row.map(cellOf).join(',')}\r\n`).join('')
}

/**
 * First characters by which a spreadsheet takes a cell for a formula; the wide forms count in East Asian versions.
 *
 * @see https://owasp.org/www-community/attacks/CSV_Injection
 */
const FORMULA = /^[=+\-@|%\t\r\n\0＝＋－＠]/

/**
 * Threat: names, notes and addresses are chosen by other people, and a formula can send other cells away. An apostrophe in front makes
 * the cell a text.
 */
function cellOf(value: CsvValue): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
