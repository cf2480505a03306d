import { type AuditEntry, type AuditFilter, type AuditSort } from '#manager/contract'
import { type AuditRow, listAuditRows } from '../store/operation/audit-log.ts'
import { targetNames } from '../store/operation/target-names.ts'
import { numberCursor } from '../store/number-cursor.ts'
import { type Db } from '../store/schema.ts'
import { type Caller, isSuperadmin } from '../users/authorize.ts'
import { requireStillAuthorized } from '../users/still-authorized.ts'
import { auditCsv, auditCsvHeader } from './audit-csv.ts'
import { withoutPrivateDeeds } from './private-deeds.ts'
import { withoutPrivatePaths } from './private-paths.ts'

/** Read access to the audit log. A superadmin sees all of it; a domain admin sees actions in the domain, without names of private files and without commands and files of sessions that their owners keep. */
export interface AuditLog {
  list(
    caller: Caller,
    query: AuditFilter & { limit: number; cursor?: string | undefined; sort?: AuditSort | undefined },
  ): Promise<{ items: AuditEntry[]; nextCursor: string | null }>
  /** Yields the text in chunks, oldest rows first; rows added meanwhile may or may not be included. */
  export(caller: Caller, query: AuditFilter & { format: 'csv' | 'jsonl' }): AsyncGenerator<string>
}

const EXPORT_BATCH = 1000
export function createAuditLog(db: Db): AuditLog {
  const domainOf = (caller: Caller): { domain?: string } => (isSuperadmin(caller) ? {} : { domain: caller.domain })
  async function toEntries(rows: readonly AuditRow[], caller: Caller): Promise<AuditEntry[]> {
    const targets = rows.flatMap(({ target }) => target ?? [])
    const names = await targetNames(db, targets, domainOf(caller).domain)
    const entries = rows.map(row => toEntry(row, (row.target !== null && names.get(row.target)) || null))
    return withoutPrivateDeeds(db, caller, await withoutPrivatePaths(db, caller, entries))
  }
  return {
    async list(caller, { limit, cursor, sort, ...filter }) {
      const last = cursor === undefined ? undefined : numberCursor(cursor)
      const rows = await listAuditRows(db, {
        ...filter,
        ...domainOf(caller),
        limit: limit + 1,
        ...(sort === 'at' ? { order: 'oldest', after: last } : { order: 'newest', before: last }),
      })
      const items = await toEntries(rows.slice(0, limit), caller)
      return { items, nextCursor: rows.length > limit ? String(items.at(-1)?.id) : null }
    },

    async *export(caller, { format, ...filter }) {
      if (format === 'csv') yield auditCsvHeader()
      let after = 0
      for (;;) {
        const page = { ...filter, ...domainOf(caller), limit: EXPORT_BATCH, after, order: 'oldest' } as const
        const rows = await listAuditRows(db, page)
        const last = rows.at(-1)
        if (!last) return
        // Check again for each page: the export may take minutes, at the pace of the reader.
        await requireStillAuthorized(db, caller)
        after = last.id
        const entries = await toEntries(rows, caller)
        yield format === 'csv' ? auditCsv(entries) : entries.map(entry => `${JSON.stringify(entry)}\n`).join('')
      }
    },
  }
}

function toEntry(row: AuditRow, targetName: string | null): AuditEntry {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actorId: row.actor_id,
    actor: row.actor,
    token: row.token,
    tokenId: row.token_id,
    actedAs: row.acted_as,
    domain: row.domain,
    action: row.action,
    target: row.target,
    targetName,
    result: row.result,
    detail: row.detail,
    address: row.address,
  }
}
