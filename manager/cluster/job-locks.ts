import { type Query } from './dedicated-connection.ts'

/**
 * Elects the manager for each job that only one manager should do at a time. A job lock is an advisory lock of PostgreSQL on this process's
 * dedicated connection: it is released the moment the process or its connection is gone, and within seconds if the process hangs. A manager believes that it holds one
 * only while that connection is heard, and takes none at a promoted standby before those that held them at the old primary have stopped believing it. It saves
 * work and keeps the order of work stable. Work that must be correct even with two managers at once takes its own lock in its transaction.
 */
export interface JobLocks {
  /** Tries to take the lock. @returns whether this manager holds it */
  take(job: string): Promise<boolean>
  /** Whether this manager holds the lock, without asking the database. False from the moment the connection is lost. */
  holds(job: string): boolean
  /** Called when a lock was taken: work begun by another manager may have to be continued. */
  onTaken(listener: (job: string) => void): void
}

export interface HeldJobLocks extends JobLocks {
  lost(): void
  /** Takes no lock for this time. */
  holdOff(ms: number): void
  /** Retries locks that were requested recently and held by another manager. */
  retry(): Promise<void>
}

/** Prefix of the text whose hash is locked. */
export const LOCK_PREFIX = 'berth:job:'
/** A manager that still wants the lock asks again within this time; older requests are dropped. */
const WANTED_MS = 15_000

/** @param isHeard whether the server of the locks has answered lately */
export function createJobLocks(query: Query, isHeard: () => boolean = () => true): HeldJobLocks {
  const held = new Set<string>()
  const asking = new Map<string, Promise<boolean>>()
  /** Time of the last request that was refused, by job. */
  const refused = new Map<string, number>()
  const listeners: ((job: string) => void)[] = []
  let epoch = 0
  let notBefore = Number.NEGATIVE_INFINITY

  async function ask(job: string): Promise<boolean> {
    if (performance.now() < notBefore) return false
    const before = epoch
    const [row] = await query('select pg_try_advisory_lock(hashtextextended($1, 0)) as taken', [LOCK_PREFIX + job])
    if (row?.taken !== true || before !== epoch) return false
    held.add(job)
    tell(job)
    return true
  }

  function tell(job: string): void {
    refused.delete(job)
    for (const listener of listeners) listener(job)
  }

  function take(job: string): Promise<boolean> {
    if (held.has(job)) return Promise.resolve(isHeard())
    // Only one request at a time: advisory locks are counted, and each one taken would have to be released.
    const running =
      asking.get(job) ??
      ask(job)
        .catch(() => false)
        .finally(() => asking.delete(job))
    asking.set(job, running)
    return running
  }

  return {
    async take(job) {
      const taken = await take(job)
      if (!taken) refused.set(job, performance.now())
      return taken
    },
    holds: job => held.has(job) && isHeard(),
    onTaken: listener => void listeners.push(listener),
    lost() {
      epoch++
      held.clear()
    },
    holdOff(ms) {
      notBefore = performance.now() + ms
    },
    async retry() {
      for (const [job, at] of refused) {
        if (performance.now() - at > WANTED_MS) refused.delete(job)
        else if (!held.has(job)) await take(job)
        // Requests for a lock were refused while the server was not heard, and the callers wait to be told of a free one.
        else if (isHeard()) tell(job)
      }
    },
  }
}

/** Job locks of a manager that is alone on its database: it holds all of them. */
export const ALL_JOBS: JobLocks = { take: () => Promise.resolve(true), holds: () => true, onTaken: () => undefined }
