import { type Query } from './dedicated-connection.ts'

/**
 * Which manager does what only one should do at a time. A turn is an advisory lock of PostgreSQL that belongs to this
 * process's own connection: it is free the moment the process, or its connection, is gone, and within seconds of when the
 * process hangs. It saves work and keeps
 * orders stable; what must be right even for two at once is locked in its transaction.
 */
export interface Turns {
  /** Whether it is this manager's turn, after trying to take it. */
  take(job: string): Promise<boolean>
  /** Without asking the database. False from the moment the connection is lost. */
  holds(job: string): boolean
  /** Called when a turn was taken: what another manager began may want to be taken up. */
  onTaken(listener: (job: string) => void): void
}

export interface HeldTurns extends Turns {
  lost(): void
  /** Tries again for what was asked for lately, and was another manager's turn. */
  retry(): Promise<void>
}

/** Of the text whose hash is locked. */
export const TURN_PREFIX = 'berth:turn:'
/** Who still wants a turn has asked for it again by then. */
const WANTED_MS = 15_000

export function createTurns(query: Query): HeldTurns {
  const held = new Set<string>()
  const asking = new Map<string, Promise<boolean>>()
  /** When it was last asked for in vain. */
  const refused = new Map<string, number>()
  const listeners: ((job: string) => void)[] = []
  let epoch = 0

  async function ask(job: string): Promise<boolean> {
    const before = epoch
    const [row] = await query('select pg_try_advisory_lock(hashtextextended($1, 0)) as taken', [TURN_PREFIX + job])
    if (row?.taken !== true || before !== epoch) return false
    held.add(job)
    refused.delete(job)
    for (const listener of listeners) listener(job)
    return true
  }

  function take(job: string): Promise<boolean> {
    if (held.has(job)) return Promise.resolve(true)
    // Once at a time: such locks count, and would have to be given back as often.
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
    holds: job => held.has(job),
    onTaken: listener => void listeners.push(listener),
    lost() {
      epoch++
      held.clear()
    },
    async retry() {
      for (const [job, at] of refused) {
        if (performance.now() - at > WANTED_MS) refused.delete(job)
        else await take(job)
      }
    },
  }
}

/** Of a manager that is alone on its database: everything is its turn. */
export const ALL_TURNS: Turns = { take: () => Promise.resolve(true), holds: () => true, onTaken: () => undefined }
