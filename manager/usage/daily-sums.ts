import { every } from '#base/every'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { distrustAllSums, recountDays, sumEndedSessions } from '../store/quotas/usage-days.ts'

const EVERY_MS = 60_000

/**
 * Maintains the sums of usage by day, from which reports are calculated: adds ended sessions, and recalculates outdated days. Every manager
 * runs it; the database lets only one work at a time. Reports are exact without it, only slower.
 */
export function startDailySums({ store, log }: { readonly store: Store; readonly log: Log }): AsyncDisposable {
  const stop = new AbortController()

  async function work(): Promise<void> {
    while (!stop.signal.aborted && (await store.transaction(trx => recountDays(trx))).isMore);
    while (!stop.signal.aborted && (await store.transaction(trx => sumEndedSessions(trx))));
  }

  const summing = every(EVERY_MS, work, error => log.error({ err: error }, 'usage by day could not be summed'))
  void summing.now()

  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await summing[Symbol.asyncDispose]()
    },
  }
}

/** Recalculates the sums of all days. @returns number of days with wrong sums that reports have used */
export async function recountAll(store: Store, log: Log): Promise<number> {
  // First recount the days marked as outdated: differences there are expected, so they are not reported.
  while ((await store.transaction(trx => recountDays(trx))).isMore);
  await store.transaction(trx => distrustAllSums(trx))
  for (let corrected = 0; ;) {
    const done = await store.transaction(trx => recountDays(trx))
    corrected += done.corrected
    if (done.isMore) continue
    if (corrected > 0) log.warn({ audit: true, days: corrected }, 'sums of usage differed from the sessions; corrected')
    return corrected
  }
}
