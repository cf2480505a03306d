import { every } from '#base/every'
import { type EventPublisher } from '../events/bus.ts'
import { toAuditRow } from '../store/operation/audit-row.ts'
import { type Log } from '../log.ts'
import { deleteOldAuditRows, insertAuditRows } from '../store/operation/audit-log.ts'
import { type Store } from '../store/open-store.ts'
import { deleteOldSessions, deleteOutdated, PRUNED, settleLastMinutes } from '../store/operation/retention.ts'
import { deleteUnconfirmed } from '../store/identity/users.ts'
import { type Settings } from '../settings/settings.ts'

const EVERY_MS = 10 * 60_000
/** Largest number of rows deleted per transaction, so that a transaction does not take long. */
const ROWS_AT_ONCE = 10_000
const USERS_AT_ONCE = 200
/** Each session is deleted with its kernels, events and figures. */
const SESSIONS_AT_ONCE = 500

export interface RetentionDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly events: EventPublisher
  readonly log: Log
  readonly everyMs?: number
}

/**
 * Deletes outdated data: rows that nobody can use or request any more, and, according to the settings, unconfirmed sign-ups, ended sessions
 * and entries of the audit log. Every manager runs this independently. Deletions due to settings are recorded in the audit log, in the same
 * transaction.
 */
export function startRetention({ store, settings, events, log, everyMs = EVERY_MS }: RetentionDeps): AsyncDisposable {
  const stop = new AbortController()
  // A function, because the value changes during awaits.
  const stopping = () => stop.signal.aborted

  async function unconfirmed(days: number): Promise<boolean> {
    const gone = await store.transaction(async trx => {
      const users = await deleteUnconfirmed(trx, { days, limit: USERS_AT_ONCE })
      const detail = { users: users.length, ids: users.map(({ id }) => id), days }
      if (users.length > 0)
        await insertAuditRows(trx, [toAuditRow({ action: 'unconfirmedPruned', result: 'ok', detail })])
      return users
    })
    for (const { id, version } of gone) events.publish({ topic: 'user', id, version: version + 1 }, 'superadmins')
    return gone.length === USERS_AT_ONCE
  }

  async function sessions(days: number): Promise<boolean> {
    return store.transaction(async trx => {
      const gone = await deleteOldSessions(trx, { days, limit: SESSIONS_AT_ONCE })
      const detail = { sessions: gone, days }
      if (gone > 0) await insertAuditRows(trx, [toAuditRow({ action: 'sessionsPruned', result: 'ok', detail })])
      return gone === SESSIONS_AT_ONCE
    })
  }

  async function auditLog(days: number): Promise<boolean> {
    return store.transaction(async trx => {
      const { rows, before } = await deleteOldAuditRows(trx, { days, limit: ROWS_AT_ONCE })
      const detail = { rows, before: before.toISOString(), days }
      if (rows > 0) await insertAuditRows(trx, [toAuditRow({ action: 'auditPruned', result: 'ok', detail })])
      return rows === ROWS_AT_ONCE
    })
  }

  async function outdated(): Promise<void> {
    for (const table of PRUNED) {
      while (!stopping() && (await deleteOutdated(store.db, table, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
    }
  }

  async function work(): Promise<void> {
    await outdated()
    while (!stopping() && (await settleLastMinutes(store.db, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
    const { unconfirmedDays, sessionDays, auditDays } = await settings.read()
    while (!stopping() && (await unconfirmed(unconfirmedDays)));
    while (!stopping() && sessionDays !== null && (await sessions(sessionDays)));
    while (!stopping() && auditDays !== null && (await auditLog(auditDays)));
  }

  const deleting = every(everyMs, work, error =>
    log.error({ err: error }, 'what is kept for some time only could not be deleted'),
  )
  void deleting.now()

  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await deleting[Symbol.asyncDispose]()
    },
  }
}
