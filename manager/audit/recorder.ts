import { type Log } from '../log.ts'
import { insertAuditRows, type NewAuditRow } from '../store/operation/audit-log.ts'
import { type AuditRecord, toAuditRow } from '../store/operation/audit-row.ts'
import { isAppError } from '#manager/contract'
import { isRefusedAsBusy } from '../store/guarded-pool.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { createFolds } from './folds.ts'

/** Recorder for parts of the manager that are not HTTP routes. */
export type Audit = Pick<AuditRecorder, 'record'>

/**
 * Writes the audit log. Rows wait for the database in a bounded queue, and rows that arrive while a statement is in flight go into the next
 * one.
 *
 * Threat model: refused requests become rows too, also those of people without credentials. So that nobody can fill the disk with them,
 * equal requests within WINDOW_MS are counted, and at most REFUSED_PER_MINUTE of one actor become rows; for the rest only the number is
 * kept (see `folds.ts`; a killed manager loses the counts of its last minute). Texts are cut, and characters that PostgreSQL refuses are
 * removed: one bad row must not stop the others.
 */
export interface AuditRecorder extends AsyncDisposable {
  /**
   * Resolves when the row is committed, or after PATIENCE_MS while retries continue; for a refused request also as soon as the database is known to be
   * away, because its refusal would come later than a client waits. Never rejects.
   */
  record(row: AuditRecord): Promise<void>
  /** Number of rows that wait. */
  readonly waiting: number
}

const MAX_WAITING = 10_000
const BATCH = 200
const PATIENCE_MS = 2_000
const RETRY_MS = 1_000
const REFUSED_PER_MINUTE = 120
const WINDOW_MS = 60_000

export interface AuditRecorderDeps {
  readonly store: Pick<Store, 'db'>
  readonly log: Log
  /** Rows for refused requests per actor and window. */
  readonly refusedPerMinute?: number
  readonly windowMs?: number
}

export function createAuditRecorder(deps: AuditRecorderDeps): AuditRecorder {
  const { store, log, refusedPerMinute = REFUSED_PER_MINUTE, windowMs = WINDOW_MS } = deps
  const queue: { readonly row: NewAuditRow; readonly written: () => void }[] = []
  /** Whether the last attempt found no database: then nobody waits for the next one. */
  let isAway = false
  const folds = createFolds(refusedPerMinute)
  let windowEnd: NodeJS.Timeout | undefined
  let lost = 0
  let writing: Promise<void> | undefined
  const stopping = new AbortController()

  /** A row with the number of lost rows, written as soon as the database accepts rows again. */
  function losses(): NewAuditRow[] {
    if (lost === 0) return []
    const row = toAuditRow({ action: 'auditLost', result: 'ok', detail: { rows: lost } })
    lost = 0
    return [row]
  }

  function closeWindow(): void {
    clearTimeout(windowEnd)
    windowEnd = undefined
    for (const row of folds.sums()) void enqueue(row)
  }

  async function write(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH)
      try {
        await insert([...losses(), ...batch.map(({ row }) => row)])
        isAway = false
        queue.splice(0, batch.length)
        for (const { written } of batch) written()
      } catch (error) {
        log.error({ err: error, waiting: queue.length }, 'the audit log cannot be written; it is tried again')
        if (stopping.signal.aborted) return
        isAway = isDatabaseAway(error)
        // The rows stay in the queue.
        if (isAway) for (const { row, written } of queue) if (row.result !== 'ok') written()
        await pause(RETRY_MS, stopping.signal)
      }
    }
  }

  async function insert(rows: readonly NewAuditRow[]): Promise<void> {
    try {
      await insertAuditRows(store.db, rows)
    } catch (error) {
      if (!isRefusedData(error)) throw error
      // At least one row is refused: insert them one by one to find it.
      for (const row of rows) {
        await insertAuditRows(store.db, [row]).catch((cause: unknown) => {
          if (!isRefusedData(cause)) throw cause
          lost++
          log.error({ err: cause, action: row.action }, 'a row of the audit log was refused by the database')
        })
      }
    }
  }

  function pump(): void {
    writing ??= onBehalfOfAll(write).finally(() => {
      writing = undefined
      if (queue.length > 0 && !stopping.signal.aborted) pump()
    })
  }

  function enqueue(row: NewAuditRow): Promise<void> {
    if (queue.length >= MAX_WAITING) {
      lost++
      return Promise.resolve()
    }
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => resolve(undefined), PATIENCE_MS).unref()
    queue.push({
      row,
      written() {
        clearTimeout(timer)
        resolve(undefined)
      },
    })
    pump()
    return isAway && row.result !== 'ok' ? Promise.resolve() : promise
  }

  return {
    get waiting() {
      return queue.length
    },

    record(record) {
      const row = toAuditRow(record)
      if (row.result !== 'ok') windowEnd ??= setTimeout(closeWindow, windowMs).unref()
      return folds.takes(row) ? enqueue(row) : Promise.resolve()
    },

    async [Symbol.asyncDispose]() {
      closeWindow()
      stopping.abort()
      await writing
      await write()
      const last = losses()
      if (last.length > 0)
        await insert(last).catch((error: unknown) => log.error({ err: error }, 'audit log: last rows'))
      if (queue.length > 0)
        log.error({ rows: queue.map(({ row }) => row) }, 'rows of the audit log could not be written')
    },
  }
}

/** Whether the database did not answer, or takes no writes. One that is only busy is not away. */
function isDatabaseAway(error: unknown): boolean {
  return isAppError(error) && error.code === 'unavailable' && !isRefusedAsBusy(error)
}

/** SQLSTATE classes 22 (data exception) and 23 (constraint). */
function isRefusedData(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^2[23]/.test(error.code)
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
