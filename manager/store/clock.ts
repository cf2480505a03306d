import { sql } from 'kysely'
import { type Log } from '../log.ts'
import { type Db } from './schema.ts'

/** Milliseconds since the epoch by the database's clock, which all times of record come from. */
export async function readClock(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`select (extract(epoch from now()) * 1000)::bigint as now`.execute(db)
  return rows[0]?.now ?? 0
}

/** The database's clock as this process knows it, without a question for every look. */
export interface Clock extends Disposable {
  now(): number
}

const LOOK_MS = 60_000
/** An answer that took longer tells too little. */
const SLOW_MS = 1_000

/**
 * Reads the database's clock now and once a minute; in between the time of this process passes, which no change of the
 * machine's clock moves. So it stays true where that clock is wrong, or differs from those of other managers.
 */
export async function startClock(db: Db, log: Log, lookMs = LOOK_MS): Promise<Clock> {
  /** At the beginning of this process. */
  let origin: number | undefined

  async function look(): Promise<void> {
    const asked = performance.now()
    const told = await readClock(db)
    const tookMs = performance.now() - asked
    const found = told - asked - tookMs / 2
    // Within what the question itself took nothing is known to have moved.
    if (origin === undefined || (tookMs < SLOW_MS && Math.abs(found - origin) > tookMs)) origin = found
  }

  await look()
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ err: error }, 'the clock of the database could not be read'))
  }, lookMs).unref()
  return {
    now: () => Math.round((origin ?? 0) + performance.now()),
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
