import { type Generated } from 'kysely'
import { type SessionId, type UserId } from '#manager/contract'
import { type Json, type Time } from './columns.ts'

/** Append-only: the database refuses updates and deletes. */
export interface AuditLogTable {
  id: Generated<number>
  at: Time
  /** Null for the system, and for those who are not signed in. */
  actor_id: UserId | null
  /** E-mail address at that time. */
  actor: string | null
  /** Owner of the target where an admin acts on what is somebody else's. */
  acted_as: string | null
  /** Name of the route, or of what the system did. */
  action: string
  /** E.g. `user:0198…`. */
  target: string | null
  /** `ok`, or the code of the error. */
  result: string
  detail: Json<Record<string, unknown>>
  address: string | null
}

/** Means over one minute, kept for 7 days. */
export interface SessionStatsMinutesTable {
  session_id: SessionId
  minute: Time
  stats: Json<Record<string, unknown>>
}

/** Manager processes on this database; one that has not been seen for a while is gone. */
export interface ManagersTable {
  /** Of the process: new with every start. */
  id: string
  /** Where agents and other managers reach it. */
  advertise_url: string
  version: string
  started_at: Time
  seen_at: Time
}
