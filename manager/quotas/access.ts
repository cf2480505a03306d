import {
  type AccessMatrix,
  AppError,
  type ResourceGroupAccess,
  type ResourceGroupAccessChange,
} from '#manager/contract'
import { listDomains } from '../store/identity/domains.ts'
import { listGroups } from '../store/identity/groups.ts'
import { grantAccess, listAccess, listAccessible, withdrawAccess } from '../store/quotas/resource-group-access.ts'
import { listResourceGroups } from '../store/quotas/resource-groups.ts'
import { type Db } from '../store/schema.ts'
import { isForeignKeyViolation } from '../store/violations.ts'
import { type Caller, isSuperadmin } from '../users/authorize.ts'
import { requireResourceGroup } from './require-resource-group.ts'

/** Access to resource groups. Without a grant, only superadmins may use a resource group. */
export interface ResourceGroupAccesses {
  /** @throws AppError `resource_group_not_found` */
  list(resourceGroup: string): Promise<ResourceGroupAccess[]>
  /** All grants, with all resource groups, domains and projects. */
  matrix(): Promise<AccessMatrix>
  /** Safe to repeat. @throws AppError `resource_group_not_found`, `domain_not_found`, `group_not_found`, `user_not_found` */
  grant(resourceGroup: string, to: ResourceGroupAccessChange): Promise<ResourceGroupAccess[]>
  /**
   * Withdraws access. Running sessions continue; waiting ones show the withdrawal as their reason. Safe to repeat.
   * @throws AppError `resource_group_not_found`
   */
  withdraw(resourceGroup: string, from: ResourceGroupAccessChange): Promise<void>
}

/** @param onChanged called when waiting sessions may now be able to start, or no longer may */
export function createResourceGroupAccesses({
  db,
  onChanged,
}: {
  db: Db
  onChanged: () => void
}): ResourceGroupAccesses {
  async function list(resourceGroup: string): Promise<ResourceGroupAccess[]> {
    await requireResourceGroup(db, resourceGroup)
    return (await listAccess(db, resourceGroup)).map(toAccess)
  }

  return {
    list,
    async matrix() {
      const [groups, domains, projects, grants] = await Promise.all([
        listResourceGroups(db),
        listDomains(db),
        listGroups(db),
        listAccess(db),
      ])
      const ofDomain = Map.groupBy(projects, ({ domain }) => domain)
      return {
        resourceGroups: groups.map(({ name, active }) => ({ name, active })),
        domains: domains.map(({ name, active }) => ({
          name,
          active,
          projects: (ofDomain.get(name) ?? []).map(project => ({
            id: project.id,
            name: project.name,
            active: project.active,
          })),
        })),
        grants: grants.map(row => ({ resourceGroup: row.resourceGroup, ...toAccess(row) })),
      }
    },
    async grant(resourceGroup, to) {
      await requireResourceGroup(db, resourceGroup)
      await grantAccess(db, resourceGroup, to).catch((error: unknown) => {
        if (!isForeignKeyViolation(error)) throw error
        const code = to.domain ? 'domain_not_found' : to.groupId ? 'group_not_found' : 'user_not_found'
        throw new AppError(code, { ...to }, { cause: error })
      })
      onChanged()
      return list(resourceGroup)
    },
    async withdraw(resourceGroup, from) {
      await requireResourceGroup(db, resourceGroup)
      await withdrawAccess(db, resourceGroup, from)
      onChanged()
    },
  }
}

/** Names of the resource groups that the caller may use through any of their groups; undefined means all. */
export async function accessibleTo(db: Db, caller: Caller): Promise<ReadonlySet<string> | undefined> {
  if (isSuperadmin(caller)) return undefined
  return listAccessible(db, { ownerId: caller.userId, domain: caller.domain, groupId: null })
}

function toAccess(row: Awaited<ReturnType<typeof listAccess>>[number]): ResourceGroupAccess {
  const { domain, groupId, userId, groupName, email } = row
  if (domain !== null) return { kind: 'domain', id: domain, name: domain }
  if (groupId !== null) return { kind: 'group', id: groupId, name: groupName ?? groupId }
  return { kind: 'user', id: userId ?? '', name: email ?? userId ?? '' }
}
