import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { PROBE } from './guarded-pool.ts'
import { type Db } from './schema.ts'

export interface Health {
  /** Resolves if the database takes changes. @throws AppError `unavailable`; the database's error where its disk is full */
  check(): Promise<void>
  /** A statement was refused for want of disk space. */
  noteDiskFull(): void
}

/** Anybody may ask; the database is asked once in so long. */
const FRESH_MS = 1_000
/** More than the pages of a table have free as a rule, so that the disk has to give some. */
const PROBE_BYTES = 64 * 1024
const PROBE_KEY = 'write_probe'

/**
 * Whether changes are possible: a commit reaches the disk, and, once a statement has failed for want of space, a row finds room
 * again. Reading alone works on a full disk, and a load balancer would send requests to a manager that refuses them.
 */
export function createHealth(db: () => Db, now: () => number = () => performance.now()): Health {
  let isDiskFull = false
  let last: { readonly at: number; readonly outcome: Promise<void> } | undefined

  async function look(): Promise<void> {
    await sql.raw(PROBE).execute(db())
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

  return {
    check() {
      if (last && now() - last.at < FRESH_MS) return last.outcome
      const outcome = look()
      last = { at: now(), outcome }
      return outcome
    },
    noteDiskFull() {
      isDiskFull = true
    },
  }
}
