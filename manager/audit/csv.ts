import { type AuditEntry } from '#manager/contract'

const COLUMNS = [
  'id',
  'at',
  'actor',
  'actorId',
  'actedAs',
  'domain',
  'action',
  'target',
  'result',
  'address',
  'detail',
] as const satisfies readonly (keyof AuditEntry)[]

export const csvHeader = () => `${COLUMNS.join(',')}\r\n`

/** Formats an entry as one line of CSV (RFC 4180). */
export function csvLine(entry: AuditEntry): string {
  const cells = COLUMNS.map(column => {
    const value = entry[column]
    return csvCell(typeof value === 'object' ? (value === null ? '' : JSON.stringify(value)) : String(value))
  })
  return `${cells.join(',')}\r\n`
}

/**
 * Escapes a cell. A spreadsheet treats a cell that begins with one of these characters as a formula, and a formula can send
 * other cells away; an apostrophe in front makes it text. @see https://owasp.org/www-community/attacks/CSV_Injection
 */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r\n|%]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
