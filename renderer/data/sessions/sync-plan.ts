import { isFinished, type Session, type SessionId } from '#manager/contract'
import { hasFailed } from './session-text.ts'

/** Lists of the server. Failed sessions are a part of the finished ones, which the server pages by themselves. */
export type ListName = 'live' | 'finished' | 'failed'

/** Read access to the sessions that the page holds. */
export interface HeldSessions {
  get(id: SessionId): Session | undefined
  values(): Iterable<Session>
}

/** A page of a list as the server answered it, newest first. */
export interface ListPage {
  readonly items: readonly Session[]
  readonly nextCursor: string | null
}

/**
 * Decides what to fetch next so that the sessions on the page become equal to those on the server. It only holds data: the caller sends the
 * requests and decides when (`session-sync.ts`).
 *
 * A hint names one session: it is fetched by its id, unless the page already holds that version. A resync means that hints were lost: whole
 * lists are fetched again. After that, sessions that should have been in a list and were not are fetched by id.
 */
export interface SyncPlan {
  hint(id: SessionId, version: number): void
  /** Marks a list as stale: it has to be fetched again from its newest session on. */
  resync(list: ListName): void
  /** Takes the lists to fetch in this round. The plan counts them as done; `resync` puts one back. */
  takeLists(): ListName[]
  /** Records which sessions a list holds before it is fetched again. Pass every page to `brought`. */
  reading(list: ListName): ListReading
  /** Takes the sessions to fetch by id in this round, after its lists. */
  takeIds(): SessionId[]
  /** Puts back ids from `takeIds` that were not fetched after all. */
  putBack(ids: readonly SessionId[]): void
}

export interface ListReading {
  brought(page: ListPage): void
  /**
   * Call after the last page. Sessions in the fetched range that no page contained have moved to the other list or are gone: they
   * are fetched by id.
   */
  finish(): void
}

export function createSyncPlan(held: HeldSessions): SyncPlan {
  const stale = new Set<ListName>()
  /** The newest version of each session that a hint has named. */
  const hinted = new Map<SessionId, number>()
  /** Sessions that were missing from their list. They are fetched whatever version the page holds. */
  const missed = new Set<SessionId>()
  /** Copy of what the last `takeIds` took, for `putBack`. */
  let taken = { hinted: new Map<SessionId, number>(), missed: new Set<SessionId>() }

  const hint = (id: SessionId, version: number) => {
    hinted.set(id, Math.max(version, hinted.get(id) ?? -1))
  }
  const belongsTo = (list: ListName, session: Session) =>
    list === 'failed' ? hasFailed(session) : isFinished(session.status) === (list === 'finished')

  return {
    hint,
    resync: list => void stale.add(list),
    takeLists() {
      const lists = [...stale]
      stale.clear()
      return lists
    },
    reading(list) {
      const missing = new Set<SessionId>()
      for (const session of held.values()) if (belongsTo(list, session)) missing.add(session.id)
      let oldest: SessionId | undefined
      return {
        brought({ items, nextCursor }) {
          for (const { id } of items) {
            missing.delete(id)
            missed.delete(id)
          }
          oldest = nextCursor === null ? undefined : (items.at(-1)?.id ?? oldest)
        },
        finish() {
          for (const id of missing) {
            const session = held.get(id)
            const isInRange = oldest === undefined || id >= oldest
            if (session && belongsTo(list, session) && isInRange) missed.add(id)
          }
        },
      }
    },
    takeIds() {
      const isOlder = (id: SessionId, version: number) => (held.get(id)?.version ?? -1) < version
      const newer = [...hinted].filter(([id, version]) => isOlder(id, version)).map(([id]) => id)
      const ids = [...new Set([...newer, ...missed])]
      taken = { hinted: new Map(hinted), missed: new Set(missed) }
      hinted.clear()
      missed.clear()
      return ids
    },
    putBack(ids) {
      for (const id of ids) {
        const version = taken.hinted.get(id)
        if (version !== undefined) hint(id, version)
        if (taken.missed.has(id)) missed.add(id)
      }
    },
  }
}
