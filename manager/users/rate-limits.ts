import { AppError, because } from '#manager/contract'
import { type Log } from '../log.ts'
import { addRequests, readRequests, type RequestCount } from '../store/identity/signing.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'

export const RATE_WINDOW_SECONDS = 15 * 60
const MINUTE_MS = 60_000
const WINDOW_MS = RATE_WINDOW_SECONDS * 1000
/** Longest age of other managers' counts, and longest delay until they see the counts of this one. */
const SHARE_MS = 1000
const PRUNE_MS = 10 * MINUTE_MS
const READ_ATTEMPTS = 3

/** Limit of a keypair, and the number of requests left after the last one. */
export interface RateState {
  readonly limit: number
  readonly remaining: number
}

/**
 * Limits the requests of a keypair per 15 minutes. Requests are counted by the minute: a request leaves the window up to a minute late,
 * never early. Refused requests do not count: otherwise a script that keeps trying would never be admitted again.
 *
 * Managers share the counts through the database without a write per request: once a second each manager adds the requests that it
 * admitted, and decides by a sum that is at most a second old. So with one manager the limit is exact; with several a keypair may exceed it
 * by the requests that the others admit within two seconds. A crash loses the counts of the last second.
 */
export interface RateLimits extends AsyncDisposable {
  /** Counts one request. @throws AppError `rate_limited` with `limit` and `retryAfterSeconds` */
  take(accessKey: string, limit: number): Promise<RateState>
  /** Takes one request back, because it was not sent with the keypair after all. */
  giveBack(accessKey: string): void
  /** Shares the counts with the other managers now. */
  share(): Promise<void>
}

export interface RateLimitsDeps {
  readonly store: Store
  readonly log: Log
  readonly now?: () => number
}

interface Entry {
  /** Requests of all managers per minute (ms), as stored in the database at `readAt`. */
  shared: ReadonlyMap<number, number>
  readAt: number
  reading: Promise<void> | undefined
  /** Admitted here, not yet in the database. */
  own: Map<number, number>
}

export function createRateLimits({ store, log, now = store.now }: RateLimitsDeps): RateLimits {
  const entries = new Map<string, Entry>()
  /** Writes of counts run one after the other; `epoch` changes when a write begins and when it ends. */
  let sharing: Promise<void> = Promise.resolve()
  let epoch = 0
  let timer: NodeJS.Timeout | undefined
  const pruning = setInterval(() => {
    const since = now() - 2 * WINDOW_MS
    for (const [key, entry] of entries) if (entry.own.size === 0 && entry.readAt < since) entries.delete(key)
  }, PRUNE_MS).unref()

  const minuteOf = (time: number) => Math.floor(time / MINUTE_MS) * MINUTE_MS

  /**
   * Reads the shared counts. If a write ran meanwhile, the rows may or may not include it: then it reads again, and after READ_ATTEMPTS it
   * keeps the known counts.
   */
  async function read(accessKey: string, entry: Entry): Promise<void> {
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
      await sharing
      const [before, startedAt] = [epoch, now()]
      const rows = await readRequests(store.db, accessKey, new Date(startedAt - WINDOW_MS - MINUTE_MS))
      if (epoch !== before) continue
      entry.shared = new Map(rows.map(row => [row.minute.getTime(), row.requests]))
      entry.readAt = startedAt
      return
    }
  }

  async function fresh(accessKey: string): Promise<Entry> {
    const entry = entries.get(accessKey) ?? {
      shared: new Map<number, number>(),
      readAt: -Infinity,
      reading: undefined,
      own: new Map<number, number>(),
    }
    entries.set(accessKey, entry)
    if (now() - entry.readAt < SHARE_MS) return entry
    entry.reading ??= read(accessKey, entry).finally(() => (entry.reading = undefined))
    await entry.reading
    return entry
  }

  /** Requests of the window per minute, oldest first. */
  function counts(entry: Entry): (readonly [minute: number, requests: number])[] {
    const since = now() - WINDOW_MS - MINUTE_MS
    const minutes = [...new Set([...entry.shared.keys(), ...entry.own.keys()])].filter(minute => minute > since)
    return minutes
      .toSorted((a, b) => a - b)
      .map(minute => [minute, (entry.shared.get(minute) ?? 0) + (entry.own.get(minute) ?? 0)])
  }

  function add(entry: Entry, minute: number, amount: number): void {
    entry.own.set(minute, (entry.own.get(minute) ?? 0) + amount)
  }

  function schedule(): void {
    timer ??= onBehalfOfAll(() => setTimeout(shareLater, SHARE_MS).unref())
  }

  function shareLater(): void {
    timer = undefined
    share().catch((error: unknown) => log.warn({ err: error }, 'counts of signed requests were not shared'))
  }

  function share(): Promise<void> {
    const run = sharing.then(addOwn)
    sharing = run.catch(() => undefined)
    return run
  }

  async function addOwn(): Promise<void> {
    const taken = [...entries].flatMap(([accessKey, entry]) => {
      const own = [...entry.own].filter(([, requests]) => requests !== 0)
      entry.own = new Map()
      return own.map(([minute, requests]) => ({ accessKey, minute, requests, entry }))
    })
    if (taken.length === 0) return
    const rows: RequestCount[] = taken.map(({ accessKey, minute, requests }) => ({
      accessKey,
      minute: new Date(minute),
      requests,
    }))
    // Add them to the shared counts at the same time, so that they are never missing.
    const move = (sign: 1 | -1) => {
      for (const { entry, minute, requests } of taken) {
        const shared = new Map(entry.shared)
        shared.set(minute, (shared.get(minute) ?? 0) + sign * requests)
        entry.shared = shared
      }
    }
    move(1)
    epoch++
    try {
      await addRequests(store, rows)
    } catch (error) {
      move(-1)
      for (const { entry, minute, requests } of taken) add(entry, minute, requests)
      schedule()
      throw error
    } finally {
      epoch++
    }
  }

  return {
    async take(accessKey, limit) {
      const entry = await fresh(accessKey)
      const before = counts(entry)
      const used = before.reduce((sum, [, requests]) => sum + requests, 0)
      if (used >= limit) {
        const [oldest] = before.find(([, requests]) => requests > 0) ?? [now()]
        const retryAfterSeconds = Math.max(1, Math.ceil((oldest + MINUTE_MS + WINDOW_MS - now()) / 1000))
        const why = because('keypair_requests', { limit, seconds: retryAfterSeconds })
        throw new AppError('rate_limited', { ...why, limit, retryAfterSeconds })
      }
      add(entry, minuteOf(now()), 1)
      schedule()
      return { limit, remaining: limit - used - 1 }
    },

    giveBack(accessKey) {
      const entry = entries.get(accessKey)
      if (entry) add(entry, minuteOf(now()), -1)
    },

    share,

    async [Symbol.asyncDispose]() {
      clearInterval(pruning)
      clearTimeout(timer)
      await share().catch((error: unknown) => log.warn({ err: error }, 'counts of signed requests were not shared'))
    },
  }
}
