import {
  AppError,
  because,
  DEFAULT_POLICY,
  formatSlots,
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
import { type Db } from '../store/schema.ts'
import { isForeignKeyViolation } from '../store/violations.ts'

/** Resource policies: named sets of limits for users and keypairs. */
export interface ResourcePolicies {
  list(): Promise<ResourcePolicy[]>
  /** @throws AppError `resource_policy_exists` */
  create(spec: ResourcePolicySpec): Promise<ResourcePolicy>
  /** @throws AppError `resource_policy_not_found` */
  change(name: string, change: ResourcePolicyChange): Promise<ResourcePolicy>
  /** @throws AppError `resource_policy_not_found`, `user_not_found`, `keypair_not_found` */
  assign(name: string, to: PolicyHolder): Promise<void>
  /** @throws AppError `resource_policy_not_found`, `resource_policy_in_use` (also for `default`) */
  remove(name: string): Promise<void>
}

/** @param onChanged called when waiting sessions may start now, or no longer may */
export function createResourcePolicies({ db, onChanged }: { db: Db; onChanged: () => void }): ResourcePolicies {
  async function view(name: string): Promise<ResourcePolicy> {
    const row = await findResourcePolicy(db, name)
    if (!row) throw noSuchPolicy(name)
    return toPolicy(row)
  }

  return {
    list: async () => (await listResourcePolicies(db)).map(toPolicy),
    async create({ name, ...settings }) {
      if (!(await insertResourcePolicy(db, name, { limits: {}, ...UNLIMITED, ...toSettings(settings) }))) {
        throw new AppError('resource_policy_exists', { name })
      }
      return view(name)
    },
    async change(name, change) {
      if (!(await updateResourcePolicy(db, name, toSettings(change)))) throw noSuchPolicy(name)
      onChanged()
      return view(name)
    },
    async assign(name, { userId, accessKey }) {
      const to = userId === undefined ? { accessKey: accessKey ?? '' } : { userId }
      const assigned = await assignResourcePolicy(db, name, to).catch((error: unknown) => {
        throw isForeignKeyViolation(error) ? noSuchPolicy(name) : error
      })
      if (!assigned) throw new AppError(userId === undefined ? 'keypair_not_found' : 'user_not_found', { ...to })
      onChanged()
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
  max_folders: null,
  max_folder_bytes: null,
  max_folder_files: null,
}

/** The settings named in the change; fields that are left out stay out. */
function toSettings(change: ResourcePolicyChange): Partial<PolicySettings> {
  const settings: { [K in keyof PolicySettings]: PolicySettings[K] | undefined } = {
    limits: change.limits && parseSlots(change.limits),
    max_concurrent_sessions: change.maxConcurrentSessions,
    max_containers_per_session: change.maxContainersPerSession,
    idle_timeout_seconds: change.idleTimeoutSeconds,
    max_lifetime_seconds: change.maxLifetimeSeconds,
    allowed_storage_hosts: change.allowedStorageHosts,
    max_folders: change.maxFolders,
    max_folder_bytes: change.maxFolderBytes,
    max_folder_files: change.maxFolderFiles,
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

function toPolicy(row: CountedPolicyRow): ResourcePolicy {
  return {
    name: row.name,
    limits: formatSlots(row.limits),
    maxConcurrentSessions: row.max_concurrent_sessions,
    maxContainersPerSession: row.max_containers_per_session,
    idleTimeoutSeconds: row.idle_timeout_seconds,
    maxLifetimeSeconds: row.max_lifetime_seconds,
    allowedStorageHosts: row.allowed_storage_hosts,
    maxFolders: row.max_folders,
    maxFolderBytes: row.max_folder_bytes,
    maxFolderFiles: row.max_folder_files,
    users: row.users,
    keypairs: row.keypairs,
    createdAt: row.created_at.toISOString(),
    version: row.version,
  }
}
