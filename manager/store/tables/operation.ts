import { type Generated } from 'kysely'
import {
  type AgentId,
  type CertificateReport,
  type CertificateState,
  type Message,
  type SessionGpu,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type Default, type Json, type MaybeTime, type Time } from './columns.ts'

/** Append-only: the database refuses updates, and deletes of rows that are younger than the setting `auditDays`. */
export interface AuditLogTable {
  id: Generated<number>
  at: Time
  /** Null for the system and for requests without a sign-in. */
  actor_id: UserId | null
  /** E-mail address of the actor at that time. */
  actor: string | null
  /** Name of the access token of the request at that time; null: it had none. */
  token: string | null
  token_id: string | null
  /** Owner of the target, if an admin acts on something that belongs to another user. */
  acted_as: string | null
  /** Domain whose admins see the row. */
  domain: string | null
  /** Name of the route, or of the system's action. */
  action: string
  /** Kind and id of the object, e.g. `user:0198…`. */
  target: string | null
  /** `ok`, or an error code. */
  result: string
  detail: Json<Record<string, unknown>>
  address: string | null
}

/** Figures accumulated since the session or kernel started. */
export interface Totals {
  readonly cpuSeconds: number
  readonly memPeakBytes: number
  readonly netRxBytes: number
  readonly netTxBytes: number
  readonly diskReadBytes: number
  readonly diskWriteBytes: number
}

/**
 * Statistics of one minute of a session, for all its kernels together. Totals are as of the end of the minute; the other numbers are means.
 * `samples` is the number of seconds observed: if two managers observed the same minute, the record with more samples is kept.
 */
export interface StatsMinute extends Totals {
  readonly samples: number
  readonly cpuMilli: number
  readonly memBytes: number
  readonly scratchBytes: number | null
  readonly gpus: readonly SessionGpu[]
}

/** Sums over the statistics of a run up to the end of a minute; only seconds with statistics count. */
export interface StatsSums {
  readonly seconds: number
  readonly memByteSeconds: number
  /**
   * Seconds in which its use of GPUs was known, and the used part of these: of a share, what it used of the share. With several GPUs,
   * their mean.
   */
  readonly gpuSeconds: number
  readonly gpuUsedSeconds: number
}

/** Figures of one kernel in a minute of its session; totals only, if it was not measured in the minute. */
export type KernelMinute = Totals & Partial<StatsMinute>

export interface KeptMinute extends StatsMinute {
  /** By kernel id, if the session has several: a finished kernel is not measured any more but still counts. */
  readonly kernels?: Readonly<Record<string, KernelMinute>>
}

/** Kept for 7 days. The last minute is kept as long as its session: it contains the session's total usage. */
export interface SessionStatsMinutesTable {
  session_id: SessionId
  minute: Time
  stats: Json<KeptMinute>
  /** True for an old row that is the last minute of its session: retention skips it. */
  settled: Generated<boolean>
}

/** Manager processes on this database. A manager that has not been seen for a while is gone. */
export interface ManagersTable {
  /** Id of the process: new with every start. */
  id: string
  /** URL at which agents and other managers reach this manager. */
  advertise_url: string
  version: string
  started_at: Time
  seen_at: Time
  /** Clock of the process minus the clock of the database, at its last heartbeat. */
  clock_ahead_ms: number
}

/** Control connections between manager processes and agents. */
export interface AgentLinksTable {
  agent_id: AgentId
  manager_id: string
  since: Time
  /** Manager process that relays the connection; null if the agent dialled this manager itself. */
  via: string | null
}

/** Requests of a manager to another one for its `berth doctor`. */
export interface DiagnosesTable {
  id: string
  /** The requested process, which may be gone. */
  manager_id: string
  /** Whether the last lines of its log are wanted too. */
  with_log: boolean
  /** JSON of the answer; null until it arrives. */
  answer: Default<string | null>
  asked_at: Time
}

/** Messages of administrators to one owner of sessions. */
export interface MessagesTable {
  id: string
  user_id: UserId
  /** E-mail address of the administrator at that time. */
  sender: string
  text: string
  /** The recipient's sessions that the message is about. */
  sessions: Json<readonly { readonly id: SessionId; readonly name: string }[]>
  /** Kind of a message that Berth itself sends; null: the words of an administrator. */
  about: Default<Message['about']>
  /** Name of the subject of `about`. */
  detail: Default<string>
  created_at: Time
  /** When the user cleared it; null: it is among the notifications. */
  cleared_at: MaybeTime
}

/** Reports of consoles about the certificates that they present. */
export interface ConsoleCertificatesTable {
  /** Computer and port. */
  console: string
  report: Json<CertificateReport>
  state: CertificateState
  seen_at: Time
}

export interface SettingsTable {
  key: string
  value: Json<unknown>
}
