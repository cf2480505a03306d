import { csvLines } from '#base/csv'
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
  'targetName',
  'token',
  'tokenId',
] as const satisfies readonly (keyof AuditEntry)[]

/** The first line of the file. There is no byte order mark before it, because scripts read the log as well. */
export const auditCsvHeader = (): string => csvLines([COLUMNS])

export function auditCsv(entries: readonly AuditEntry[]): string {
  return csvLines(entries.map(entry => COLUMNS.map(column => valueOf(entry[column]))))
}

function valueOf(value: AuditEntry[keyof AuditEntry]) {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
