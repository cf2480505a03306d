import { type Generated } from 'kysely'
import { type DeviceFigures, type AgentId, type SessionId, type UserId } from '#manager/contract'
import { type Json, type Time } from './columns.ts'

/** Append-only: the database refuses updates, and deletes of rows that are younger than the setting `auditDays`. */
export interface AuditLogTable {
  id: Generated<number>
  at: Time
  /** Null for the system, and for those who are not signed in. */
  actor_id: UserId | null
  /** E-mail address at that time. */
  actor: string | null
  /** Owner of the target where an admin acts on what is somebody else's. */
  acted_as: string | null
  /** Whose admins see it. */
  domain: string | null
  /** Name of the route, or of what the system did. */
  action: string
  /** E.g. `user:0198…`. */
  target: string | null
  /** `ok`, or the code of the error. */
  result: string
  detail: Json<Record<string, unknown>>
  address: string | null
}

/** What counts since the start. */
export interface Totals {
  readonly cpuSeconds: number
  readonly memPeakBytes: number
  readonly netRxBytes: number
  readonly netTxBytes: number
  readonly diskReadBytes: number
  readonly diskWriteBytes: number
}

/**
 * One minute of a session, all of its kernels together: means, but for the totals (as at the end of the minute).
 * `samples` are seconds that were seen: of two managers that saw the same minute the fuller one is kept.
 */
export interface StatsMinute extends Totals {
  readonly samples: number
  readonly cpuMilli: number
  readonly memBytes: number
  readonly scratchBytes: number | null
  readonly gpus: readonly DeviceFigures[]
}

export interface KeptMinute extends StatsMinute {
  /** By id, where a session has several: one that has done its work is not measured any more, and still counts. */
  readonly kernels?: Readonly<Record<string, Totals>>
}

/** Kept for 7 days; the last minute of every session for ever, as what it used in all. */
export interface SessionStatsMinutesTable {
  session_id: SessionId
  minute: Time
  stats: Json<KeptMinute>
  /** The last minute of its session, and old: retention does not look at it again. */
  settled: Generated<boolean>
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
  /** Its clock minus that of the database, at its last sign of life. */
  clock_ahead_ms: number
}

/** Which manager process has a control connection to which agent. */
export interface AgentLinksTable {
  agent_id: AgentId
  manager_id: string
  since: Time
  /** The manager process through which it comes; null where the agent has dialled. */
  via: string | null
}
