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
  /** Compares a time that the database has just told. Told at once, so that nothing is judged by a clock that was set. */
  observe(told: number): void
  /**
   * By how many milliseconds the database's clock was set forward, on balance, after it showed `at`. What began before
   * then is so much younger than it looks. Never negative.
   */
  setForwardSince(at: number): number
  /** The last time that the clock was set, if that was within the last hour. */
  lastStep(): ClockStep | undefined
}

export interface ClockStep {
  /** What it showed afterwards. */
  readonly at: number
  /** Negative: it was set back. */
  readonly byMs: number
}

const LOOK_MS = 60_000
/** An answer that took longer tells too little. */
const SLOW_MS = 1_000
/** Less is drift, or a clock that a time server corrects. */
const STEP_MS = 60_000
const TOLD_MS = 3_600_000

/**
 * Reads the database's clock now and once a minute; in between the time of this process passes, which no change of the
 * machine's clock moves. So it stays true where that clock is wrong, or differs from those of other managers, and a clock of the
 * database that is set by more than a minute is noticed and told.
 */
export async function startClock(db: Db, log: Log, lookMs = LOOK_MS): Promise<Clock> {
  /** At the beginning of this process. */
  let origin: number | undefined
  const steps: ClockStep[] = []

  function adopt(found: number): void {
    const byMs = origin === undefined ? 0 : Math.round(found - origin)
    origin = found
    if (Math.abs(byMs) <= STEP_MS) return
    steps.push({ at: found + performance.now(), byMs })
    log.error({ byMs }, 'the clock of the database was set; sessions from before do not end the sooner for it')
  }

  async function look(): Promise<void> {
    const asked = performance.now()
    const told = await readClock(db)
    const tookMs = performance.now() - asked
    const found = told - asked - tookMs / 2
    // Within what the question itself took nothing is known to have moved.
    if (origin === undefined || (tookMs < SLOW_MS && Math.abs(found - origin) > tookMs)) adopt(found)
  }

  await look()
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ err: error }, 'the clock of the database could not be read'))
  }, lookMs).unref()
  return {
    now: () => Math.round((origin ?? 0) + performance.now()),
    observe(told) {
      const found = told - performance.now()
      // The answer may have waited for this process; only a step is certain.
      if (origin !== undefined && Math.abs(found - origin) > STEP_MS) adopt(found)
    },
    setForwardSince(at) {
      const after = steps.filter(step => at < step.at)
      return Math.max(
        0,
        after.reduce((sum, { byMs }) => sum + byMs, 0),
      )
    },
    lastStep() {
      const last = steps.at(-1)
      return last && (origin ?? 0) + performance.now() - last.at < TOLD_MS ? last : undefined
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
