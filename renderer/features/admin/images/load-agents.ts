import { type AgentSummary, type ApiClient } from '#manager/contract'
import { allPages } from '../all-pages.ts'

/** All agents except forgotten ones, by name: to choose from, or to name those that have an image. */
export async function loadAgents(
  api: Pick<ApiClient, 'listAgentSummaries'>,
  signal: AbortSignal,
): Promise<readonly AgentSummary[]> {
  const all: AgentSummary[] = []
  const pages = allPages(cursor => api.listAgentSummaries({ query: { limit: 500, sort: 'name', cursor }, signal }))
  for await (const page of pages) all.push(...page)
  return all
}

/** Agents that can pull and build images now. */
export const connectedOf = (agents: readonly AgentSummary[]): readonly AgentSummary[] =>
  agents.filter(({ status }) => status === 'CONNECTED')
