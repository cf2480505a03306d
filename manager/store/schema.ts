import { type ColumnType, type Generated, type Kysely } from 'kysely'
import {
  type AgentId,
  type App,
  type Device,
  type KernelId,
  type Reason,
  type ResourceGroupOptions,
  type ResourceSlots,
  type Role,
  type SessionId,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { type AgentImage, type KernelApp } from '#agent/contract'

/** Written as text: node-postgres turns a bare array into a PostgreSQL array, which jsonb refuses (22P02). */
type Json<T> = ColumnType<T, string, string>
/** Set by a default of the database when left out. */
type Default<T> = Generated<T>
/** timestamptz; times of record are the database's `now()`. */
type Time = ColumnType<Date, Date | string | undefined, Date | string>

/**
 * The tables as Kysely sees them. Ids are uuid columns read as lower-case text; bigint columns are read as numbers
 * (`open-store.ts` parses int8, and amounts are safe integers by construction); json is jsonb.
 * What the columns mean beyond their names is said in `migrations/`.
 */
export interface Database {
  settings: SettingsTable
  users: UsersTable
  logins: LoginsTable
  sign_in_tickets: SignInTicketsTable
  login_failures: LoginFailuresTable
  agents: AgentsTable
  join_tokens: JoinTokensTable
  agent_images: AgentImagesTable
  sessions: SessionsTable
  kernels: KernelsTable
  kernel_devices: KernelDevicesTable
  session_events: SessionEventsTable
  grants: GrantsTable
  resource_groups: ResourceGroupsTable
  reservations: ReservationsTable
  keypairs: KeypairsTable
}

/** What query functions take: the database or a transaction on it. */
export type Db = Kysely<Database>

export interface SettingsTable {
  key: string
  value: Json<unknown>
}

export interface UsersTable {
  id: UserId
  email: string
  name: string
  role: Role
  domain: Default<string>
  /** Argon2id, PHC string. */
  password_hash: string
  active: Default<boolean>
  created_at: Time
  /** Grows with every change; what an event hint carries. */
  version: Default<number>
}

export interface LoginsTable {
  id: string
  user_id: UserId
  /** SHA-256 of the token; the token itself is never stored. */
  token_hash: Buffer
  kind: 'browser' | 'token'
  label: string | null
  address: string
  created_at: Time
  last_used_at: Time
  /** Moves with use (browser), never beyond `ends_at`. */
  expires_at: Time
  ends_at: Time
}

export interface SignInTicketsTable {
  ticket_hash: Buffer
  user_id: UserId
  created_at: Time
  expires_at: Time
}

/** Back-off after failed sign-ins; `key` is `account:<e-mail>` or `address:<ip>`. */
export interface LoginFailuresTable {
  key: string
  failures: number
  last_failed_at: Time
  blocked_until: Time | null
}

export interface AgentsTable {
  id: AgentId
  name: string
  resource_group: string
  /** Ed25519, SPKI, base64. */
  public_key: string
  status: 'CONNECTED' | 'LOST' | 'REVOKED'
  schedulable: Default<boolean>
  /** Base units. */
  capacity: Json<ResourceSlots>
  devices: Json<Device[]>
  network_isolation: Default<'full' | 'partial'>
  network_isolation_reason: string | null
  /** Of the agent's software. */
  version: Default<string>
  engine_version: Default<string>
  joined_at: Time
  last_seen_at: Time
  /** Grows with every change; what an event hint carries. */
  row_version: Default<number>
}

export interface JoinTokensTable {
  token_hash: Buffer
  resource_group: string
  created_by: UserId | null
  created_at: Time
  expires_at: Time
  used_at: ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
  used_by: AgentId | null
}

export interface AgentImagesTable {
  agent_id: AgentId
  /** Image id of the engine, `sha256:…`. */
  digest: string
  image: Json<AgentImage>
  seen_at: Time
}

export interface SessionsTable {
  id: SessionId
  name: string
  owner_id: UserId
  status: SessionStatus
  reason: Json<Reason>
  resource_group: string
  image: string
  image_digest: string | null
  /** Base units. */
  requested: Json<ResourceSlots>
  shmem_bytes: number
  environ: Json<Record<string, string>>
  startup_command: string | null
  /** With commands; users see them as `App`. */
  apps: Json<(App | KernelApp)[]>
  attempt: Default<number>
  /** Agents on which earlier attempts failed. */
  failed_agents: ColumnType<AgentId[], string | undefined, string>
  created_at: Time
  /** When `status` last changed: what deadlines count from. */
  status_at: Time
  started_at: ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
  ended_at: ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
  version: Default<number>
}

export interface KernelsTable {
  id: KernelId
  session_id: SessionId
  /** `main1`, `sub1`, … */
  role: string
  status: SessionStatus
  agent_id: AgentId | null
  attempt: Default<number>
  container_id: string | null
  exit_code: number | null
  /** Base units; what it occupies while its status is one of OCCUPYING_STATUSES. */
  slots: Json<ResourceSlots>
  /** When its agent gives up on the current attempt by itself; until then nobody else may start it. */
  start_by: ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
  log_tail: string | null
}

export interface KernelDevicesTable {
  kernel_id: KernelId
  agent_id: AgentId
  uuid: string
  slot: 'cuda.device' | 'cuda.shares'
  /** Base units of the slot. */
  amount: number
}

export interface SessionEventsTable {
  id: Generated<number>
  session_id: SessionId
  kernel_id: KernelId | null
  at: Time
  from_status: SessionStatus | null
  to_status: SessionStatus
  reason: Json<Reason>
  /** E-mail address, or null for the system. */
  actor: string | null
}

export interface ResourceGroupsTable {
  name: string
  description: Default<string>
  sequencer: Default<'fifo' | 'lifo' | 'drf'>
  selector: Default<'concentrated' | 'dispersed' | 'round-robin'>
  options: ColumnType<ResourceGroupOptions, string | undefined, string>
  active: Default<boolean>
  created_at: Time
  version: Default<number>
}

export interface HeldDevice {
  readonly uuid: string
  readonly slot: 'cuda.device' | 'cuda.shares'
  readonly amount: number
}

/** What becomes free on the agent is held for the session; at most one per group. */
export interface ReservationsTable {
  resource_group: string
  session_id: SessionId
  agent_id: AgentId
  devices: Json<readonly HeldDevice[]>
  created_at: Time
}

export interface KeypairsTable {
  access_key: string
  user_id: UserId
  /** Of the secret box, place `keypair:<access key>`. */
  sealed_secret: string
  active: Default<boolean>
  /** Requests per 15 minutes. */
  rate_limit: number
  created_at: Time
  last_used_at: ColumnType<Date | null, Date | string | null | undefined, Date | string | null>
}

export interface GrantsTable {
  id: string
  grant_hash: Buffer
  user_id: UserId
  login_id: string | null
  session_id: SessionId
  app: string
  created_at: Time
  expires_at: Time
}
