import { type ColumnType, type Generated } from 'kysely'
import { type Default, type Json, type MaybeJson, type MaybeTime, type Time } from './columns.ts'
import {
  type AgentId,
  type App,
  type ClusterMode,
  type GpuChoice,
  type GroupId,
  type KernelId,
  type Reason,
  type ResourceSlots,
  type SessionId,
  type ImageDefaultsSpec,
  type SessionSpec,
  type SlurmChoice,
  type SessionPermission,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { type KeptMinute } from './operation.ts'
import { type HeldDevice } from './scheduling.ts'

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
  /** The GPUs that it accepts; null for any. */
  gpu: MaybeJson<GpuChoice>
  /** Choices of the session in Slurm; null for none. */
  slurm: MaybeJson<SlurmChoice>
  /** Time at which the limit of its job in Slurm ends it; null: no limit, or not known yet. Kept from an earlier grant while it waits. */
  slurm_ends_at: MaybeTime
  shmem_bytes: number
  /** True if the user requested no amount of shared memory: the image on the session's agent decides. */
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
  /** E-mail address of the administrator who launched the session for its owner; null: the owner launched it. */
  launched_by: string | null
  /** Access token that launched it, which may have ended since; null: no token did. */
  token_id: string | null
  /** Whether the owner lets administrators read log and start-up command. */
  admins_may_read: Default<boolean>
  /**
   * When others could first use the session. Kept after they lose access, because their programs may still run. A session that takes over
   * the home of such a session inherits the time.
   */
  used_by_others_at: MaybeTime
  domain: Default<string>
  group_id: GroupId | null
  kind: Default<'interactive' | 'batch'>
  /** Larger values are scheduled first; the sequencer orders sessions of equal priority. */
  priority: Default<number>
  /** Sessions that must have ended successfully before this one starts. */
  depends_on: ColumnType<SessionId[], string | undefined, string>
  cluster_size: Default<number>
  cluster_mode: Default<ClusterMode>
  /** Names that it may reach; an empty list: nothing outside itself; null: like any program of the host. */
  allowed_names: MaybeJson<string[]>
  /** Number of the network between its hosts; null while it is on one host. */
  cluster_network: number | null
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
  /** Time at which it is stopped for another session, to continue later; null while no interruption is announced. */
  interrupt_at: MaybeTime
  /** Number of runs that were interrupted. */
  interruptions: Default<number>
  /**
   * Begin of the minute since which all its GPUs have been idle according to the statistics; null if a GPU is busy, or without statistics.
   */
  gpu_idle_since: MaybeTime
  /** Whether `usage_days` contains it; false until some minutes after its end. */
  usage_summed: Default<boolean>
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
  /** When it was shared, or the permission changed last. */
  changed_at: Time
}

/** Users' default settings for new sessions of an image. */
export interface ImageDefaultsTable {
  user_id: UserId
  image: string
  settings: Json<Omit<ImageDefaultsSpec, 'image'>>
  changed_at: Time
}

/** Requests that users have stored under names. */
export interface SessionTemplatesTable {
  user_id: UserId
  name: string
  spec: Json<SessionSpec>
  /** True for at most one template per user. */
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
  /** Deadline at which the agent gives up the current attempt on its own. No other agent may start the kernel earlier. */
  start_by: MaybeTime
  /** When the kernel finished; null until then. */
  ended_at: MaybeTime
  log_tail: string | null
  /** Kernel of an earlier run, in `past_kernels`, whose home it continues with. */
  files_of: ColumnType<KernelId | null, KernelId | null | undefined, KernelId | null>
}

/** Kernels of interrupted runs. The next run of the session has kernels of its own. */
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
  /** The kernel's part of the session's CPU time in that run. */
  cpu_seconds: number | null
  /** The last statistics of the session in that run, for all its kernels together; null in rows of older versions. */
  stats: MaybeJson<KeptMinute>
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
