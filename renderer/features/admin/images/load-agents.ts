import { type AgentSummary, type ApiClient } from '#manager/contract'

/** All agents but forgotten ones, by name: to choose from, or to name those that have an image. */
export async function loadAgents(api: Pick<ApiClient, 'listAgentSummaries'>): Promise<readonly AgentSummary[]> {
  const all: AgentSummary[] = []
  let cursor: string | undefined
  do {
    const page = await api.listAgentSummaries({ query: { limit: 500, sort: 'name', cursor } })
    all.push(...page.items)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return all
}

/** Agents that can pull and build images now. */
export const connectedOf = (agents: readonly AgentSummary[]): readonly AgentSummary[] =>
  agents.filter(({ status }) => status === 'CONNECTED')
