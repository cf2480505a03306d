import { type AgentId, AppError, because } from '#manager/contract'
import { firstNames } from '../first-names.ts'
import { listOccupants, setResourceGroup } from '../store/agents/agent-groups.ts'
import { type AgentRow, lockAgent } from '../store/agents/agents.ts'
import { holdResourceGroup } from '../store/identity/removal.ts'
import { noSuchAgent, noSuchResourceGroup } from '../store/missing.ts'
import { lockResourceGroup } from '../store/quotas/resource-groups.ts'
import { type Db } from '../store/schema.ts'
import { listWaitingForFiles } from '../store/sessions/queue.ts'

/**
 * Moves an agent to another resource group. Both groups are locked, so that neither scheduler places a session meanwhile. An agent with
 * sessions is not moved: sessions count in their own group, and that group's users may lack access to the other one.
 *
 * @returns the agent as it is now, unchanged if it is in that group already
 * @throws AppError `agent_not_found`, `resource_group_not_found`, `agent_in_use`
 */
export async function moveAgent(trx: Db, id: AgentId, resourceGroup: string): Promise<AgentRow> {
  const agent = await lockAgent(trx, id)
  if (!agent || agent.status === 'REVOKED') throw noSuchAgent(id)
  if (!(await holdResourceGroup(trx, resourceGroup))) throw noSuchResourceGroup(resourceGroup)
  const { resource_group: before, name } = agent
  if (before === resourceGroup) return agent
  // Always in this order: otherwise two opposite moves would wait for each other for ever.
  for (const group of [before, resourceGroup].toSorted()) await lockResourceGroup(trx, group)
  const running = await listOccupants(trx, id)
  if (running.length > 0) {
    throw new AppError('agent_in_use', {
      ...because('agent_used_by', { agent: name, sessions: firstNames(running) }),
      running,
    })
  }
  const waiting = await listWaitingForFiles(trx, id)
  if (waiting.length > 0) {
    throw new AppError('agent_in_use', {
      ...because('agent_has_files', { agent: name, sessions: firstNames(waiting) }),
      waiting,
    })
  }
  const moved = await setResourceGroup(trx, id, resourceGroup)
  if (!moved) throw noSuchAgent(id)
  return moved
}
