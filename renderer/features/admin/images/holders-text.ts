import { type AgentId, type Image } from '#manager/contract'
import { t } from '../../../words/en/admin-images.ts'

/** Names of the first agents that have an image, and the number of the others. */
export function holdersText({ holders, firstAgents = [] }: Pick<Image, 'holders' | 'firstAgents'>): string {
  if (holders === 0) return t('nowhere')
  if (firstAgents.length === 0) return t('someAgents', { count: holders })
  const names = firstAgents.join(', ')
  const others = holders - firstAgents.length
  return others > 0 ? t('moreAgents', { names, count: others }) : names
}

/** Names of all agents that have an image; for a forgotten agent, its id. Empty if no agent has it. */
export const allHoldersText = (
  { agentIds = [] }: Pick<Image, 'agentIds'>,
  names: ReadonlyMap<AgentId, string>,
): string => agentIds.map(id => names.get(id) ?? id).join(', ')
