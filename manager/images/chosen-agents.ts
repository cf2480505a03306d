import { type AgentId, AppError, because } from '#manager/contract'
import { requireResourceGroup } from '../quotas/require-resource-group.ts'
import { type AgentRow, listAgents } from '../store/agents/agents.ts'
import { noSuchAgent } from '../store/missing.ts'
import { type Db } from '../store/schema.ts'

/**
 * The agents that an admin has chosen: by id, by resource group, or all.
 * @throws AppError `agent_not_found`, `resource_group_not_found`, `bad_request`
 */
export async function chosenAgents(
  db: Db,
  { agentIds, resourceGroup }: { agentIds?: readonly AgentId[] | undefined; resourceGroup?: string | undefined },
): Promise<readonly AgentRow[]> {
  if (agentIds !== undefined && resourceGroup !== undefined) {
    throw new AppError('bad_request', because('agents_or_group'))
  }
  if (resourceGroup !== undefined) await requireResourceGroup(db, resourceGroup)
  const all = await listAgents(db, resourceGroup)
  const rows = agentIds === undefined ? all : all.filter(agent => agentIds.includes(agent.id))
  const unknown = agentIds?.find(id => !rows.some(row => row.id === id))
  if (unknown !== undefined) throw noSuchAgent(unknown)
  if (rows.length === 0) {
    throw new AppError(
      'bad_request',
      resourceGroup === undefined ? because('no_agents_yet') : because('no_agents_in_group', { group: resourceGroup }),
    )
  }
  return rows
}
