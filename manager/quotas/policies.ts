import { defined } from '#base/defined'
import {
  AppError,
  because,
  DEFAULT_POLICY,
  formatGpuLimits,
  formatSlots,
  keptNames,
  parseGpuLimits,
  parseSlots,
  type PolicyHolder,
  type ResourcePolicy,
  type ResourcePolicyChange,
  type ResourcePolicySpec,
} from '#manager/contract'
import {
  assignResourcePolicy,
  type CountedPolicyRow,
  deleteResourcePolicy,
  findResourcePolicy,
  insertResourcePolicy,
  listResourcePolicies,
  type PolicySettings,
  updateResourcePolicy,
} from '../store/quotas/resource-policies.ts'
import { noSuchPolicy } from '../store/missing.ts'
import { type Store } from '../store/open-store.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type Caller } from '../users/authorize.ts'
import { type News, type AccountNotifier } from '../users/account-notifier.ts'

/** Resource policies: named sets of limits for users and keypairs. */
export interface ResourcePolicies {
  list(): Promise<ResourcePolicy[]>
  /** @throws AppError `resource_policy_exists` */
  create(spec: ResourcePolicySpec): Promise<ResourcePolicy>
  /** @throws AppError `resource_policy_not_found` */
  change(name: string, change: ResourcePolicyChange): Promise<ResourcePolicy>
  /** Tells the person whose limits change. @throws AppError `resource_policy_not_found`, `user_not_found`, `keypair_not_found` */
  assign(caller: Caller, name: string, to: PolicyHolder): Promise<void>
  /** @throws AppError `resource_policy_not_found`, `resource_policy_in_use` (also for `default`) */
  remove(name: string): Promise<void>
}

export interface ResourcePoliciesDeps {
  readonly store: Store
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
  /** Called when waiting sessions may now be able to start, or no longer may. */
  readonly onChanged: () => void
}

export function createResourcePolicies({ store, notifier, onChanged }: ResourcePoliciesDeps): ResourcePolicies {
  const { db } = store
  async function view(name: string): Promise<ResourcePolicy> {
    const row = await findResourcePolicy(db, name)
    if (!row) throw noSuchPolicy(name)
    return toPolicy(row)
  }

  return {
    list: async () => (await listResourcePolicies(db)).map(toPolicy),
    async create({ name, ...settings }) {
      if (
        !(await insertResourcePolicy(db, name, { limits: {}, gpu_limits: [], ...UNLIMITED, ...toSettings(settings) }))
      ) {
        throw new AppError('resource_policy_exists', { name })
      }
      return view(name)
    },
    async change(name, change) {
      if (!(await updateResourcePolicy(db, name, toSettings(change)))) throw noSuchPolicy(name)
      onChanged()
      return view(name)
    },
    async assign(caller, name, { userId, accessKey = '' }) {
      const to = userId === undefined ? { accessKey } : { userId }
      const assign = store.transaction(async trx => {
        const ownerId = await assignResourcePolicy(trx, name, to)
        if (!ownerId) throw new AppError(userId === undefined ? 'keypair_not_found' : 'user_not_found', { ...to })
        const kind = userId === undefined ? 'keypair_changed' : 'account_changed'
        const news: News[] = [{ userId: ownerId, by: caller, kind, detail: userId === undefined ? accessKey : '' }]
        await notifier.write(trx, news)
        return news
      })
      const news = await assign.catch((error: unknown) => {
        throw isForeignKeyViolation(error) ? noSuchPolicy(name) : error
      })
      onChanged()
      await notifier.announce(news)
    },
    async remove(name) {
      if (name === DEFAULT_POLICY) {
        throw new AppError('resource_policy_in_use', {
          name,
          ...because('default_policy_stays', { policy: name }),
        })
      }
      const deleted = await deleteResourcePolicy(db, name).catch((error: unknown) => {
        if (!isForeignKeyViolation(error)) throw error
        const why = because('policy_used', { policy: name })
        throw new AppError('resource_policy_in_use', { name, ...why }, { cause: error })
      })
      if (!deleted) throw noSuchPolicy(name)
    },
  }
}

const UNLIMITED = {
  max_concurrent_sessions: null,
  max_containers_per_session: null,
  idle_timeout_seconds: null,
  max_lifetime_seconds: null,
  allowed_storage_hosts: null,
  allowed_names: null,
  default_names: null,
  max_folders: null,
  max_folder_bytes: null,
  max_folder_files: null,
}

/** The settings named in the change; missing fields stay missing. */
function toSettings(change: ResourcePolicyChange): Partial<PolicySettings> {
  const settings: { [K in keyof PolicySettings]: PolicySettings[K] | undefined } = {
    limits: change.limits && parseSlots(change.limits),
    gpu_limits: change.gpuLimits && parseGpuLimits(change.gpuLimits),
    max_concurrent_sessions: change.maxConcurrentSessions,
    max_containers_per_session: change.maxContainersPerSession,
    idle_timeout_seconds: change.idleTimeoutSeconds,
    max_lifetime_seconds: change.maxLifetimeSeconds,
    allowed_storage_hosts: change.allowedStorageHosts,
    allowed_names: change.allowedNames && keptNames(change.allowedNames),
    default_names: change.defaultNames && keptNames(change.defaultNames),
    max_folders: change.maxFolders,
    max_folder_bytes: change.maxFolderBytes,
    max_folder_files: change.maxFolderFiles,
  }
  return defined(settings)
}

function toPolicy(row: CountedPolicyRow): ResourcePolicy {
  return {
    name: row.name,
    limits: formatSlots(row.limits),
    gpuLimits: formatGpuLimits(row.gpu_limits),
    maxConcurrentSessions: row.max_concurrent_sessions,
    maxContainersPerSession: row.max_containers_per_session,
    idleTimeoutSeconds: row.idle_timeout_seconds,
    maxLifetimeSeconds: row.max_lifetime_seconds,
    allowedStorageHosts: row.allowed_storage_hosts,
    allowedNames: row.allowed_names && [...row.allowed_names],
    defaultNames: row.default_names && [...row.default_names],
    maxFolders: row.max_folders,
    maxFolderBytes: row.max_folder_bytes,
    maxFolderFiles: row.max_folder_files,
    users: row.users,
    keypairs: row.keypairs,
    createdAt: row.created_at.toISOString(),
    version: row.version,
  }
}
