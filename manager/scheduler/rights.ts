import { type Reason, type SessionId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { type AskedSessions, type MountOfSession } from '../store/sessions/rights.ts'
import { type GroupSnapshot } from './plan/index.ts'

/** Rights of the owners of waiting sessions that are less than at the time of the request. */
export interface RightsNow {
  /** Sessions that must not start now, because a right was withdrawn without which they would have been refused. */
  readonly withdrawn: ReadonlyMap<SessionId, Reason>
  /** Withdrawn sessions that can never start, because something that they need was deleted. */
  readonly doomed: ReadonlyMap<SessionId, Reason>
  /** Mounts of the other sessions that may now only be read. */
  readonly lowered: readonly MountOfSession[]
}

/**
 * Reads the rights of waiting sessions as they are now. They are read for each plan, so that a session without them holds nothing and shows
 * the reason, and again in the transaction that places sessions.
 */
export type ReadRights = (db: Db, of: AskedSessions) => Promise<RightsNow>

/** The snapshot without sessions that must not start: they have no position in the queue and get no reservation. */
export function withoutWithdrawn(snapshot: GroupSnapshot, { withdrawn }: RightsNow): GroupSnapshot {
  if (withdrawn.size === 0) return snapshot
  return { ...snapshot, pending: snapshot.pending.filter(({ id }) => !withdrawn.has(id)) }
}
