import { AppError, because, type FolderCount } from '#manager/contract'
import { listPoliciesOf, type ResourcePolicyRow } from '../store/quotas/resource-policies.ts'
import { readOwned, readOwnedLimits } from '../store/storage/folder-usage.ts'
import { countFolders, lockFolderCount } from '../store/storage/folders.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'

/** Whether all of these policies allow the storage host. */
export function mayUseHost(
  policies: readonly Pick<ResourcePolicyRow, 'allowed_storage_hosts'>[],
  host: string,
): boolean {
  return policies.every(({ allowed_storage_hosts: allowed }) => allowed === null || allowed.includes(host))
}

/** Number of folders that the caller has, and may have by the strictest of these policies. */
export async function countOf(
  db: Db,
  caller: Caller,
  policies: readonly Pick<ResourcePolicyRow, 'max_folders'>[],
): Promise<FolderCount> {
  const limits = policies.flatMap(({ max_folders: limit }) => limit ?? [])
  const [count, used, most] = await Promise.all([
    countFolders(db, caller.userId),
    readOwned(db, caller.userId),
    readOwnedLimits(db, caller.userId),
  ])
  return {
    count,
    limit: limits.length === 0 ? null : Math.min(...limits),
    usedBytes: used.bytes,
    limitBytes: most.bytes,
    usedFiles: used.files,
    limitFiles: most.files,
  }
}

/**
 * Refuses a further folder of a caller who has as many as the resource policy allows. Folders in the trash count. Locks the account, so
 * that two concurrent requests do not both pass the limit.
 *
 * @throws AppError `over_folder_limit`
 */
export async function requireFewFolders(trx: Db, caller: Caller): Promise<void> {
  const policies = await listPoliciesOf(trx, caller)
  const count = await lockFolderCount(trx, caller.userId)
  for (const { name, max_folders: limit } of policies) {
    if (limit === null || count < limit) continue
    const why =
      limit === 1
        ? because('folders_at_most_one', { policy: name, count })
        : because('folders_at_most', { policy: name, limit, count })
    throw new AppError('over_folder_limit', { policy: name, limit, ...why })
  }
}
