import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { AppError, because } from '#manager/contract'
import { PROBE } from './probe.ts'
import { type Db } from './schema.ts'

export interface Health {
  /** Resolves if the database accepts writes. @throws AppError `unavailable`; the database's error if its disk is full */
  check(): Promise<void>
  /** Records that a statement was refused because the disk is full: checks also write a row until one succeeds. */
  noteDiskFull(): void
}

/** Age up to which an outcome is reused: anybody may call the check, so it queries the database at most this often. */
const FRESH_MS = 1_000
/** A check that takes longer tells what the one before it found: whoever asks does not wait until a silent server counts as away. */
const PATIENCE_MS = 1_500
/** More than the free space that table pages usually have, so that the probe needs new space on the disk. */
const PROBE_BYTES = 64 * 1024
const PROBE_KEY = 'write_probe'

/**
 * The health check of the database: whether writes are possible. A commit has to reach the disk; after a statement has failed because the
 * disk is full, the check must also store a row. A read-only check would pass on a full disk, and a load balancer would send requests to a
 * manager that refuses them.
 */
export function createHealth(db: () => Db, now: () => number = () => performance.now()): Health {
  let isDiskFull = false
  /** Finding of the last finished check; undefined if all was well. */
  let problem: Error | undefined
  let last: { readonly at: number; readonly outcome: Promise<void> } | undefined

  async function check(): Promise<void> {
    const asked = `${PROBE}, current_setting('transaction_read_only') as "readOnly"`
    const { rows } = await sql.raw<{ readOnly: string }>(asked).execute(db())
    if (rows[0]?.readOnly === 'on') throw new AppError('unavailable', because('database_read_only'))
    if (!isDiskFull) return
    const value = JSON.stringify(randomBytes(PROBE_BYTES).toString('base64'))
    await db()
      .transaction()
      .execute(async trx => {
        await trx.insertInto('settings').values({ key: PROBE_KEY, value }).execute()
        await trx.deleteFrom('settings').where('key', '=', PROBE_KEY).execute()
      })
    isDiskFull = false
  }

  async function saidBefore(): Promise<void> {
    await delay(PATIENCE_MS, undefined, { ref: false })
    if (problem !== undefined) throw problem
    await new Promise(() => undefined)
  }

  return {
    check() {
      if (last && now() - last.at < FRESH_MS) return last.outcome
      const checked = check().then(
        () => (problem = undefined),
        (error: unknown) => {
          problem = error instanceof Error ? error : new Error(String(error))
          throw error
        },
      )
      const outcome = Promise.race([checked, saidBefore()])
      // A failure is part of the outcome, which is returned.
      checked.catch(() => undefined)
      last = { at: now(), outcome }
      return outcome
    },
    noteDiskFull() {
      isDiskFull = true
    },
  }
}
