import { type ColumnType, type Generated, type Kysely } from 'kysely'
import {
  type AgentLinksTable,
  type AuditLogTable,
  type ManagersTable,
  type MessagesTable,
  type SessionStatsMinutesTable,
} from './tables/operation.ts'
import { type Default, type DefaultJson, type Json, type MaybeTime, type Time } from './tables/columns.ts'
import {
  type BootstrapScriptsTable,
  type DismissedAnnouncementsTable,
  type DomainsTable,
  type DotfilesTable,
  type GroupMembersTable,
  type GroupsTable,
  type InvitationsTable,
  type SignUpRequestsTable,
  type EmailTokensTable,
  type IdempotencyKeysTable,
  type KeypairNoncesTable,
  type KeypairRequestsTable,
  type RecoveryCodesTable,
} from './tables/identity.ts'
import {
  type FolderClonesTable,
  type FolderInvitationsTable,
  type FolderMembersTable,
  type FolderUsageTable,
  type FoldersTable,
  type SessionFoldersTable,
  type StorageHostsTable,
  type UploadsTable,
  type DownloadsTable,
} from './tables/storage.ts'
import { type SignInAttemptsTable, type SignInIdentitiesTable, type SignInProvidersTable } from './tables/sign-in.ts'
import { type PresetsTable, type ResourceGroupAccessTable, type ResourcePoliciesTable } from './tables/quotas.ts'
import {
  type ImageAliasesTable,
  type ImageRequestsTable,
  type ImageSettingsTable,
  type RegistriesTable,
  type RegistryImagesTable,
  type TasksTable,
} from './tables/images.ts'
import {
  type AgentId,
  type App,
  type Device,
  type GroupId,
  type KernelId,
  type PublishedAppId,
  type Reason,
  type ResourceGroupOptions,
  type ResourceSlots,
  type Role,
  type SessionId,
  type SessionSpec,
  type SessionPermission,
  type SessionStatus,
  type SettableMode,
  type UserId,
} from '#manager/contract'
import { type AgentImage } from '#agent/contract'

/**
 * The tables as Kysely sees them. Ids are uuid columns read as lower-case text; bigint columns are read as numbers
 * (`open-store.ts` parses int8, and amounts are safe integers by construction); json is jsonb.
 * `migrations/` explains columns whose names do not say enough.
 */
export interface Database {
  settings: SettingsTable
  users: UsersTable
  logins: LoginsTable
  sign_in_tickets: SignInTicketsTable
  sign_in_providers: SignInProvidersTable
  sign_in_identities: SignInIdentitiesTable
  sign_in_attempts: SignInAttemptsTable
  login_failures: LoginFailuresTable
  agents: AgentsTable
  join_tokens: JoinTokensTable
  agent_images: AgentImagesTable
  sessions: SessionsTable
  session_templates: SessionTemplatesTable
  kernels: KernelsTable
  kernel_devices: KernelDevicesTable
  session_events: SessionEventsTable
  grants: GrantsTable
  published_apps: PublishedAppsTable
  resource_groups: ResourceGroupsTable
  reservations: ReservationsTable
  interruptions: InterruptionsTable
  past_kernels: PastKernelsTable
  keypairs: KeypairsTable
  domains: DomainsTable
  groups: GroupsTable
  group_members: GroupMembersTable
  invitations: InvitationsTable
  sign_up_requests: SignUpRequestsTable
  email_tokens: EmailTokensTable
  recovery_codes: RecoveryCodesTable
  keypair_requests: KeypairRequestsTable
  keypair_nonces: KeypairNoncesTable
  idempotency_keys: IdempotencyKeysTable
  dotfiles: DotfilesTable
  bootstrap_scripts: BootstrapScriptsTable
  dismissed_announcements: DismissedAnnouncementsTable
  messages: MessagesTable
  resource_policies: ResourcePoliciesTable
  presets: PresetsTable
  resource_group_access: ResourceGroupAccessTable
  registries: RegistriesTable
  registry_images: RegistryImagesTable
  image_settings: ImageSettingsTable
  image_aliases: ImageAliasesTable
  image_requests: ImageRequestsTable
  tasks: TasksTable
  audit_log: AuditLogTable
  session_stats_minutes: SessionStatsMinutesTable
  managers: ManagersTable
  agent_links: AgentLinksTable
  storage_hosts: StorageHostsTable
  folders: FoldersTable
  folder_members: FolderMembersTable
  folder_usage: FolderUsageTable
  folder_clones: FolderClonesTable
  folder_invitations: FolderInvitationsTable
  session_folders: SessionFoldersTable
  session_shares: SessionSharesTable
  uploads: UploadsTable
  downloads: DownloadsTable
}

/** First argument of every query function: the database or a transaction on it. */
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
  /** False: nobody knows a password of the account, which a sign-in at a provider made. */
  password_set: Default<boolean>
  active: Default<boolean>
  resource_policy: Default<string>
  /** Set by default. Null only after a sign-up: that account cannot sign in until its e-mail link is used. */
  email_verified_at: MaybeTime
  /** TOTP secret, sealed at place `totp:<user id>`. Sign-in asks for codes only once it is confirmed. */
  totp_sealed: string | null
  totp_confirmed_at: MaybeTime
  /** Time step of the last accepted code, so that no code is accepted twice. */
  totp_last_step: number | null
  /** The user's own SSH public key (one line). Sessions that start after it was set authorise it. */
  ssh_public_key: string | null
  created_at: Time
  /** Incremented by every change; event hints carry it. */
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
  /** Moved forward by each use, never beyond `ends_at`. */
  expires_at: Time
  ends_at: Time
  /** Each use extends the sign-in to this many seconds from then. */
  idle_seconds: Default<number>
  /** Access key of a sign-in that was made with one: it ends with the keypair. */
  keypair: Default<string | null>
}

export interface SignInTicketsTable {
  ticket_hash: Buffer
  user_id: UserId
  created_at: Time
  expires_at: Time
}

/**
 * Back-off: counts of failed sign-ins, and of requests by strangers. `key` says what is counted: `account:<e-mail>`,
 * `signed-in:<user id>`, `address:<network>`, `sign-up:<network>`, `mail-from:<network>` or `mail-to:<e-mail>`.
 */
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
  /** How each GPU is given out, by its UUID: the mode that the agent reported first, until an admin sets another. */
  device_modes: DefaultJson<Readonly<Record<string, SettableMode>>>
  /** Digest of the image list that the agent reported last. */
  images_digest: string | null
  network_isolation: Default<'full' | 'partial'>
  network_isolation_reason: string | null
  /** Version of the agent's software. */
  version: Default<string>
  engine_version: Default<string>
  joined_at: Time
  last_seen_at: Time
  /** Text for admins: the parts of the agent's reports that could not be processed, and why. Null if nothing is wrong. */
  problem: string | null
  /** Incremented by every change; event hints carry it. */
  row_version: Default<number>
}

export interface JoinTokensTable {
  token_hash: Buffer
  resource_group: string
  created_by: UserId | null
  created_at: Time
  expires_at: Time
  used_at: MaybeTime
  used_by: AgentId | null
  /** Id for the agent that joins with this token; null in tokens of older versions. */
  agent_id: AgentId | null
  /** Existing agent that the agent joining with this token replaces. */
  replaces: AgentId | null
}

export interface AgentImagesTable {
  agent_id: AgentId
  /** Image id as the engine reports it, `sha256:…`. */
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
  /** True if the user named no amount of shared memory: the image on the session's agent decides. */
  shmem_from_image: Default<boolean>
  environ: Json<Record<string, string>>
  startup_command: string | null
  /** Whether the image's own ENTRYPOINT and CMD run. */
  run_image_command: Default<boolean>
  /** Apps as the agent describes its copy of the image. Rows of older versions include their commands. */
  apps: Json<readonly App[]>
  attempt: Default<number>
  /** Agents on which earlier attempts failed. */
  failed_agents: ColumnType<AgentId[], string | undefined, string>
  created_at: Time
  /** Time of the last change of `status`; deadlines count from it. */
  status_at: Time
  started_at: MaybeTime
  ended_at: MaybeTime
  /** Access key of the keypair that created the session. */
  keypair: string | null
  domain: Default<string>
  group_id: GroupId | null
  kind: Default<'interactive' | 'batch'>
  /** Larger values are scheduled first; the sequencer orders sessions of equal priority. */
  priority: Default<number>
  /** Sessions that must have ended successfully before this one starts. */
  depends_on: ColumnType<SessionId[], string | undefined, string>
  cluster_size: Default<number>
  idle_timeout_seconds: number | null
  max_lifetime_seconds: number | null
  /** End of the maximum lifetime, busy or not. Set when the session starts, moved by extensions. */
  expires_at: MaybeTime
  /** Start of the idle period as far as the manager knows, moved forward by periods without observation. */
  idle_since: MaybeTime
  /** When a manager last saw the session idle; accurate to half a minute. */
  idle_seen_at: MaybeTime
  /** Ended kernel whose home directory this session continues with. */
  files_of: KernelId | null
  /** Time before which the session does not start; null = no such time. */
  starts_at: MaybeTime
  /** Whether it may be interrupted for a session of higher priority. */
  interruptible: Default<boolean>
  /** Time at which it is stopped to make room, and then continues later; null while no interruption is announced. */
  interrupt_at: MaybeTime
  /** Number of runs that were interrupted. */
  interruptions: Default<number>
  tags: ColumnType<string[], string | undefined, string>
  note: Default<string>
  version: Default<number>
}

/** Members of a session's project with whom its owner shares it. */
export interface SessionSharesTable {
  session_id: SessionId
  user_id: UserId
  group_id: GroupId
  permission: SessionPermission
  shared_at: Time
}

/** Requests that users have stored under names. */
export interface SessionTemplatesTable {
  user_id: UserId
  name: string
  spec: Json<SessionSpec>
  /** At most one template of a user. */
  is_default: Default<boolean>
  created_at: Time
  updated_at: Time
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
  /** Base units. The kernel occupies them while its status is one of OCCUPYING_STATUSES. */
  slots: Json<ResourceSlots>
  /** Deadline at which the agent gives up the current attempt by itself. No other agent may start the kernel before. */
  start_by: MaybeTime
  /** When the kernel finished; null until then. */
  ended_at: MaybeTime
  log_tail: string | null
  /** Kernel of an earlier run, in `past_kernels`, whose home it continues with. */
  files_of: ColumnType<KernelId | null, KernelId | null | undefined, KernelId | null>
}

/** Kernels of runs that were interrupted. The next run of the session has kernels of its own. */
export interface PastKernelsTable {
  kernel_id: KernelId
  session_id: SessionId
  agent_id: AgentId | null
  attempt: number
  container_id: string | null
  exit_code: number | null
  log_tail: string | null
  devices: Json<readonly HeldDevice[]>
  started_at: Time
  ended_at: Time
  /** Its part of the CPU time that the session used in that run. */
  cpu_seconds: number | null
}

/** The one interruption under way in a resource group. The sessions to stop carry `interrupt_at`. */
export interface InterruptionsTable {
  resource_group: string
  /** The session for which others are interrupted. */
  session_id: SessionId
  agent_id: AgentId
  at: Time
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
  /** Text for users while the group is not active. */
  notice: Default<string>
  created_at: Time
  version: Default<number>
}

export interface HeldDevice {
  readonly uuid: string
  readonly slot: 'cuda.device' | 'cuda.shares'
  readonly amount: number
}

/** Capacity that becomes free on the agent is held for this session. At most one reservation per resource group. */
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
  /** Secret key, sealed at place `keypair:<access key>`. */
  sealed_secret: string
  active: Default<boolean>
  /** Requests per 15 minutes. */
  rate_limit: number
  resource_policy: Default<string>
  created_at: Time
  last_used_at: MaybeTime
}

/** Apps that are open to people without an account. */
export interface PublishedAppsTable {
  id: PublishedAppId
  name: string
  port: number | null
  session_id: SessionId
  app: string
  user_id: UserId
  password_hash: string | null
  addresses: Json<readonly string[]>
  created_at: Time
  expires_at: Time
  visits: Default<number>
  last_visit_at: MaybeTime
}

export interface GrantsTable {
  id: string
  grant_hash: Buffer
  user_id: UserId
  /** What the grant ends with: a sign-in, a keypair or a published app. Exactly one is set. */
  login_id: string | null
  keypair: string | null
  published_app: PublishedAppId | null
  session_id: SessionId
  app: string
  created_at: Time
  expires_at: Time
}
