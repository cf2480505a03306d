import { sql } from 'kysely'
import { every } from '#base/every'
import { type Log } from '../log.ts'
import { type Db } from './schema.ts'

/** The database's clock, in milliseconds since the epoch. All times of record come from it. */
export async function readClock(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`select (extract(epoch from now()) * 1000)::bigint as now`.execute(db)
  return rows[0]?.now ?? 0
}

/** A local copy of the database's clock: reading it costs no query. */
export interface Clock extends Disposable {
  now(): number
  /**
   * Compares `told`, a time that the database has just returned, with this copy. Call it before judging the age of any row, so that a step
   * of the database's clock is noticed first.
   */
  observe(told: number): void
  /**
   * Milliseconds by which the database's clock was set forward in total since it showed `at`: an event at `at` happened more recently than
   * its time suggests, by this amount. Never negative.
   */
  setForwardSince(at: number): number
  /** The last step of the clock, if it was within the last hour. */
  lastStep(): ClockStep | undefined
}

/** The database's clock was set while this process ran. */
export interface ClockStep {
  /** Time that the clock showed after the step, in milliseconds since the epoch. */
  readonly at: number
  /** Size of the step; negative if the clock was set back. */
  readonly byMs: number
}

const CHECK_EVERY_MS = 60_000
/** A reading that took longer is too inexact and is ignored, except the first one. */
const SLOW_MS = 1_000
/** A smaller difference is drift, or the correction by a time server; it does not count as a step. */
const STEP_MS = 60_000
/** Time for which `lastStep` reports a step. */
const TOLD_MS = 3_600_000

/**
 * Reads the database's clock now and once a minute. Between two readings it advances with the monotonic clock of this process, which
 * ignores changes of the machine's clock. So the result is right even if the machine's clock is wrong or differs from those of other
 * managers. A step of the database's clock by more than a minute is noticed and logged.
 */
export async function startClock(db: Db, log: Log, checkEveryMs = CHECK_EVERY_MS): Promise<Clock> {
  /** The database's time at the start of this process (`performance.now()` = 0). */
  let origin: number | undefined
  const steps: ClockStep[] = []

  function adopt(found: number): void {
    const byMs = origin === undefined ? 0 : Math.round(found - origin)
    origin = found
    if (Math.abs(byMs) <= STEP_MS) return
    steps.push({ at: found + performance.now(), byMs })
    log.error({ byMs }, 'the clock of the database was set; sessions started before keep their remaining time')
  }

  async function check(): Promise<void> {
    const asked = performance.now()
    const told = await readClock(db)
    const tookMs = performance.now() - asked
    const found = told - asked - tookMs / 2
    // A difference smaller than the duration of the query proves nothing.
    if (origin === undefined || (tookMs < SLOW_MS && Math.abs(found - origin) > tookMs)) adopt(found)
  }

  await check()
  const checking = every(checkEveryMs, check, error =>
    log.warn({ err: error }, 'the clock of the database could not be read'),
  )
  return {
    now: () => Math.round((origin ?? 0) + performance.now()),
    observe(told) {
      const found = told - performance.now()
      // The answer may have waited before this process read it, so small differences prove nothing: only a step counts.
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
    [Symbol.dispose]: () => checking[Symbol.dispose](),
  }
}
