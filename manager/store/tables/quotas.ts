import { type GpuChoice, type ResourceSlots, type StoredGpuLimit, type UserId } from '#manager/contract'
import { type Generated } from 'kysely'
import { type Default, type DefaultJson, type Json, type MaybeJson, type Time } from './columns.ts'

/** Limits for a user (all sessions of the user) or for a keypair (the sessions created with it). Null = unlimited. */
export interface ResourcePoliciesTable {
  name: string
  /** Base units. A missing slot is unlimited. */
  limits: DefaultJson<ResourceSlots>
  gpu_limits: DefaultJson<readonly StoredGpuLimit[]>
  max_concurrent_sessions: number | null
  max_containers_per_session: number | null
  idle_timeout_seconds: number | null
  max_lifetime_seconds: number | null
  /** Names of storage hosts; null = all. */
  allowed_storage_hosts: DefaultJson<string[] | null>
  /** Names that sessions may reach; an empty list: none; null: no limit. */
  allowed_names: MaybeJson<readonly string[]>
  /** Names that a session reaches whose launch chooses no network; null: as much as allowed. */
  default_names: MaybeJson<readonly string[]>
  max_folders: number | null
  /** Bytes on disk of all folders that a user owns; null = unlimited. */
  max_folder_bytes: number | null
  /** Number of files in all folders that a user owns; null = unlimited. */
  max_folder_files: number | null
  created_at: Time
  version: Default<number>
}

/** Sizes offered in the launch dialog. */
export interface PresetsTable {
  name: string
  /** Base units. */
  slots: Json<ResourceSlots>
  /** The GPUs that it chooses; null for any. */
  gpu: MaybeJson<GpuChoice>
  shmem_bytes: number | null
  created_at: Time
  version: Default<number>
}

/**
 * Grants access to a resource group: exactly one of domain, group and user is set. Superadmins always have access.
 */
export interface ResourceGroupAccessTable {
  resource_group: string
  domain: string | null
  group_id: string | null
  user_id: UserId | null
}

/** Resources that ended sessions held during one period, summed up. */
interface UsageSums {
  /** Numbers of sessions that ran during the period (`sessions`) and that began in it (`begun`); interrupted ones do not count. */
  sessions: number
  begun: number
  cpu_seconds: number
  mem_byte_seconds: number
  gpu_seconds: number
  cpu_used_seconds: number
  cpu_measured_seconds: number
  gpu_used_seconds: number
  gpu_measured_seconds: number
  mem_used_byte_seconds: number
  mem_measured_byte_seconds: number
}

/** Sums of one day of UTC, by one dimension of a report. */
export interface UsageDaysTable extends UsageSums {
  /** `user`, `project`, `domain`, `image` or `agent`. */
  dimension: string
  /** `2026-11-23` */
  day: string
  domain: string
  /** Id of the user, project or agent, or name of the domain or image; empty for sessions without it. */
  key: string
}

/** Sums of one week of UTC, by one dimension of a report. */
export interface UsageWeeksTable extends Omit<UsageDaysTable, 'day'> {
  /** Monday of the week. */
  week: string
}

/** Sums of one hour, by domain. */
export interface UsageHoursTable extends UsageSums {
  hour: Date
  domain: string
  read_bytes: number
  written_bytes: number
  received_bytes: number
  sent_bytes: number
}

/** Days with outdated sums, from the first to the last. */
export interface UsageRecountsTable {
  id: Generated<number>
  first_day: string
  last_day: string
}
