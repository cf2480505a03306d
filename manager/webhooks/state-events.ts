import { every, type Repeated } from '#base/every'
import { type JobLocks } from '../cluster/job-locks.ts'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { trimDeliveries } from '../store/operation/webhook-deliveries.ts'
import { hasWebhooks, writeLimitEvents, writeWaitingEvents } from '../store/operation/webhook-events.ts'

const EVERY_MS = 15_000
const EVENTS_AT_ONCE = 500
/** Long waits that one webhook is told of in an hour: more are a state of the whole queue, and keep a receiver from the other events. */
const WAITS_IN_HOUR = 200
/** A limit that sessions wait for is told of again after this time. */
const LIMIT_AGAIN_HOURS = 6
/** Deliveries that the log of one webhook keeps. */
const MOST_KEPT = 2_000

export interface StateEventsDeps {
  readonly store: Store
  readonly jobLocks: JobLocks
  readonly onWritten: () => void
  readonly log: Log
  readonly everyMs?: number | undefined
}

/** Writes the events that a lasting state causes: long waits, and limits that sessions wait for. One manager does it. */
export function startStateEvents({ store, jobLocks, onWritten, log, everyMs = EVERY_MS }: StateEventsDeps): Repeated {
  async function work(): Promise<void> {
    if (!(await jobLocks.take('webhooks')) || !(await hasWebhooks(store.db))) return
    const bounds = { limit: EVENTS_AT_ONCE, mostInHour: WAITS_IN_HOUR }
    while ((await store.transaction(trx => writeWaitingEvents(trx, bounds))) === EVENTS_AT_ONCE);
    await store.transaction(trx => writeLimitEvents(trx, LIMIT_AGAIN_HOURS))
    await trimDeliveries(store.db, MOST_KEPT)
    onWritten()
  }
  return every(everyMs, work, error => log.warn({ err: error }, 'events of waiting sessions could not be written'))
}
