import { sql } from 'kysely'
import { type Db } from '../schema.ts'

export interface BackOff {
  readonly key: string
  /** Number of failures from which the next attempt has to wait; every further failure doubles the wait. */
  readonly from: number
}

const LONGEST_WAIT_SECONDS = 900
/** After this time without a failure, the count starts again. */
const FORGET = sql`interval '1 hour'`

/**
 * Counts an attempt as failed before it is made, so that concurrent attempts cannot all pass. A success takes it back.
 * Call it inside a transaction that is rolled back if any key has to wait.
 *
 * @returns seconds to wait, or undefined if the attempt may be made
 */
export async function countAttempt(db: Db, { key, from }: BackOff): Promise<number | undefined> {
  const wait = (failures: ReturnType<typeof sql>) => sql`
    case when ${failures} >= ${from}
      then now() + make_interval(secs => least(${LONGEST_WAIT_SECONDS}, power(2, ${failures} - ${from})))
    end`
  const next = sql`case when f.last_failed_at < now() - ${FORGET} then 1 else f.failures + 1 end`
  const { rows } = await sql`
    insert into login_failures as f (key, failures, blocked_until) values (${key}, 1, ${wait(sql`1`)})
    on conflict (key) do update set failures = ${next}, last_failed_at = now(), blocked_until = ${wait(next)}
      where f.blocked_until is null or f.blocked_until <= now()
    returning failures`.execute(db)
  if (rows.length > 0) return undefined
  const blocked = await sql<{ seconds: number }>`
    select ceil(extract(epoch from blocked_until - now()))::int as seconds from login_failures where key = ${key}`.execute(
    db,
  )
  return Math.max(1, blocked.rows[0]?.seconds ?? 1)
}

/** Resets the count after a successful attempt. */
export async function forgetFailures(db: Db, key: string): Promise<void> {
  await db.deleteFrom('login_failures').where('key', '=', key).execute()
}

/** Resets all counts whose keys have this prefix. */
export async function forgetFailuresOf(db: Db, prefix: string): Promise<void> {
  await db
    .deleteFrom('login_failures')
    .where(sql<boolean>`starts_with(key, ${prefix})`)
    .execute()
}

/**
 * Uncounts one attempt that succeeded; earlier failures stay counted. If those were reset, an attacker could gain guesses at other accounts
 * by signing in to their own.
 */
export async function takeBackAttempt(db: Db, { key, from }: BackOff): Promise<void> {
  await sql`
    update login_failures set failures = greatest(failures - 1, 0),
      blocked_until = case when failures - 1 >= ${from} then blocked_until end
    where key = ${key}`.execute(db)
}
