import { type NewAuditRow } from './audit-log.ts'

const MAX_TEXT = 300

/** An audit row to insert; fields that are left out become null or empty. */
export type AuditRecord = Pick<NewAuditRow, 'action' | 'result'> & Partial<NewAuditRow>

/** Completes the row; texts are cut to 300 characters, and characters that PostgreSQL refuses are replaced. */
export function toAuditRow(record: AuditRecord): NewAuditRow {
  const text = (value: string | null | undefined) => (value === undefined || value === null ? null : clean(value))
  return {
    actor_id: record.actor_id ?? null,
    actor: text(record.actor),
    token: text(record.token),
    token_id: record.token_id ?? null,
    acted_as: text(record.acted_as),
    domain: text(record.domain),
    action: clean(record.action),
    target: text(record.target),
    result: clean(record.result),
    detail: cleanAll(record.detail ?? {}),
    address: text(record.address),
  }
}

function cleanAll(detail: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(detail).map(([key, value]) => [
      clean(key),
      Array.isArray(value)
        ? value.slice(0, 50).map((item: unknown) => (typeof item === 'string' ? clean(item) : item))
        : typeof value === 'string'
          ? clean(value)
          : value,
    ]),
  )
}

/** Cuts the text and replaces NUL and lone surrogates, which PostgreSQL does not accept in text. */
function clean(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed().replaceAll('\0', '\ufffd')
}
