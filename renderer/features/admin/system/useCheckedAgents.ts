import { ref, shallowRef } from 'vue'
import { type ApiClient } from '#manager/contract'
import { type CheckedAgent } from './useDiagnoses.ts'

/** Agents of the first request: there may be a thousand, and those with problems come first. */
const FEW = 50
/** The most that the manager sends at once. */
const MANY = 500

/** The agents that can be checked, those with problems first, loaded page by page. */
export function useCheckedAgents(api: Pick<ApiClient, 'listAgentSummaries'>) {
  const agents = shallowRef<readonly CheckedAgent[]>([])
  /** Number of all agents, also of those that are not loaded. */
  const total = ref(0)
  let next: string | null = null

  async function ask(limit: number, cursor?: string): Promise<readonly CheckedAgent[]> {
    const answer = await api.listAgentSummaries({ query: { sort: '-problems', limit, ...(cursor && { cursor }) } })
    total.value = answer.total
    next = answer.nextCursor
    return answer.items
  }

  /** Loads the first agents anew. */
  async function load(): Promise<void> {
    agents.value = await ask(FEW)
  }

  /** Loads until so many agents are there, or all. */
  async function loadMore(wanted = Infinity): Promise<void> {
    while (next !== null && agents.value.length < wanted) {
      const page = await ask(MANY, next)
      // An agent whose problems changed meanwhile may be on two pages.
      const known = new Set(agents.value.map(({ id }) => id))
      agents.value = [...agents.value, ...page.filter(({ id }) => !known.has(id))]
    }
  }

  return { agents, total, load, loadMore }
}
