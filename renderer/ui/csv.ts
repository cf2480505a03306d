/**
 * A table as CSV (RFC 4180), with a byte order mark, without which Excel takes UTF-8 for something else. A text that a
 * spreadsheet would run as a formula gets an apostrophe: names of sessions are chosen by other people.
 */
export function csvOf(rows: readonly (readonly (string | number | null)[])[]): string {
  return `\uFEFF${csvLines(rows)}`
}

/** Lines to put behind a beginning of `csvOf`. */
export function csvLines(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map(row => `${row.map(cellOf).join(',')}\r\n`).join('')
}

function cellOf(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
