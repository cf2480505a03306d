import { type Kysely } from 'kysely'
import {
  type UsersTable,
  type LoginsTable,
  type SignInTicketsTable,
  type LoginFailuresTable,
  type KeypairsTable,
} from './tables/accounts.ts'
import {
  type AgentsTable,
  type AgentTargetTable,
  type JoinTokensTable,
  type AgentImagesTable,
} from './tables/agents.ts'
import {
  type SessionsTable,
  type SessionSharesTable,
  type ImageDefaultsTable,
  type SessionTemplatesTable,
  type KernelsTable,
  type PastKernelsTable,
  type KernelDevicesTable,
  type SessionEventsTable,
} from './tables/sessions.ts'
import {
  type AllocationsTable,
  type EngineUsersTable,
  type InterruptionsTable,
  type ReservationsTable,
  type ResourceGroupsTable,
} from './tables/scheduling.ts'
import {
  type GrantsTable,
  type OwnAppsTable,
  type OwnAppTicketsTable,
  type AppPortsTable,
  type ClosedAppPortsTable,
  type EndedPublishedAppsTable,
  type PublishedAppsTable,
} from './tables/grants.ts'
import {
  type AgentLinksTable,
  type AuditLogTable,
  type ConsoleCertificatesTable,
  type DiagnosesTable,
  type ManagersTable,
  type MessagesTable,
  type SessionStatsMinutesTable,
  type SettingsTable,
} from './tables/operation.ts'
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
  type VisitsTable,
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
import { type ScimGroupsTable, type ScimTokensTable, type ScimUsersTable } from './tables/scim.ts'
import { type SignInAttemptsTable, type SignInIdentitiesTable, type SignInProvidersTable } from './tables/sign-in.ts'
import {
  type PresetsTable,
  type ResourceGroupAccessTable,
  type ResourcePoliciesTable,
  type UsageDaysTable,
  type UsageHoursTable,
  type UsageRecountsTable,
  type UsageWeeksTable,
} from './tables/quotas.ts'
import {
  type ImageAliasesTable,
  type ImageDomainsTable,
  type ImageRequestsTable,
  type ImageSettingsTable,
  type RegistriesTable,
  type RegistryImagesTable,
  type TasksTable,
} from './tables/images.ts'
import { type WebhookDeliveriesTable, type WebhooksTable } from './tables/webhooks.ts'

/**
 * The tables as Kysely sees them. Ids are uuid columns read as lower-case text; bigint columns are read as numbers (`open-store.ts` parses
 * int8, and amounts are safe integers by construction); json is jsonb. `migrations/0001-initial/` explains columns whose names are not
 * self-explanatory.
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
  agent_target: AgentTargetTable
  join_tokens: JoinTokensTable
  agent_images: AgentImagesTable
  sessions: SessionsTable
  image_defaults: ImageDefaultsTable
  session_templates: SessionTemplatesTable
  kernels: KernelsTable
  kernel_devices: KernelDevicesTable
  session_events: SessionEventsTable
  grants: GrantsTable
  published_apps: PublishedAppsTable
  ended_published_apps: EndedPublishedAppsTable
  own_apps: OwnAppsTable
  own_app_tickets: OwnAppTicketsTable
  app_ports: AppPortsTable
  closed_app_ports: ClosedAppPortsTable
  resource_groups: ResourceGroupsTable
  reservations: ReservationsTable
  interruptions: InterruptionsTable
  allocations: AllocationsTable
  engine_users: EngineUsersTable
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
  visits: VisitsTable
  messages: MessagesTable
  resource_policies: ResourcePoliciesTable
  presets: PresetsTable
  resource_group_access: ResourceGroupAccessTable
  usage_days: UsageDaysTable
  usage_weeks: UsageWeeksTable
  usage_hours: UsageHoursTable
  usage_recounts: UsageRecountsTable
  registries: RegistriesTable
  registry_images: RegistryImagesTable
  image_settings: ImageSettingsTable
  image_aliases: ImageAliasesTable
  image_domains: ImageDomainsTable
  image_requests: ImageRequestsTable
  tasks: TasksTable
  audit_log: AuditLogTable
  session_stats_minutes: SessionStatsMinutesTable
  managers: ManagersTable
  console_certificates: ConsoleCertificatesTable
  diagnoses: DiagnosesTable
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
  scim_tokens: ScimTokensTable
  scim_users: ScimUsersTable
  scim_groups: ScimGroupsTable
  webhooks: WebhooksTable
  webhook_deliveries: WebhookDeliveriesTable
}

/** First argument of every query function: the database or a transaction on it. */
export type Db = Kysely<Database>
