import { AppError, because, formatSlots, type Resources } from '#manager/contract'
import { type AgentService } from '../agents/service.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { accessibleTo } from '../quotas/access.ts'
import { requireGroupOf } from '../quotas/group-of.ts'
import { asked, readWhatIsLeft } from '../quotas/what-is-left.ts'

export interface ResourcesQuery {
  readonly resourceGroup?: string | undefined
  readonly group?: string | undefined
}

/**
 * Resources available to the caller: capacity of the agents that the caller may use, and the remaining amounts of the caller's limits.
 * @throws AppError `resource_group_not_found` (also without access to it), `group_not_found`, `group_inactive`
 */
export async function readResources(
  { db, agents }: { db: Db; agents: Pick<AgentService, 'resources'> },
  caller: Caller,
  query: ResourcesQuery,
): Promise<Resources> {
  const accessible = await accessibleTo(db, caller)
  const { resourceGroup } = query
  if (resourceGroup !== undefined && accessible && !accessible.has(resourceGroup)) {
    throw new AppError('resource_group_not_found', {
      name: resourceGroup,
      ...because('group_without_access', { group: resourceGroup }),
    })
  }
  const group = query.group === undefined ? null : await requireGroupOf(db, caller, query.group)
  const left = await readWhatIsLeft(db, asked(caller, group?.id ?? null))
  const figures = await agents.resources(resourceGroup === undefined ? accessible : new Set([resourceGroup]))
  return {
    ...figures,
    left: formatSlots(left.slots),
    ...(left.gpuLimits.length === 0 ? {} : { gpuLimits: [...left.gpuLimits] }),
    sessionsLeft: left.sessions,
  }
}
