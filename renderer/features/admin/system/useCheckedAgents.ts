import { computed } from 'vue'
import { useFetched } from '../../../data/fetched.ts'
import { firstPages } from '../../../data/first-pages.ts'
import { useServices } from '../../../services.ts'

/** Agents of the first request: there may be a thousand, and those with problems come first. */
const FEW = 50

/** The agents that can be checked, those with problems first, as many as are wanted. */
export function useCheckedAgents() {
  const { api } = useServices()
  let wanted = FEW
  const { value, error, again } = useFetched({
    async fetch(_, signal) {
      const { items, total } = await firstPages(wanted, page =>
        api.listAgentSummaries({ query: { ...page, sort: '-problems' }, signal }),
      )
      // An agent whose problems changed between two requests may be on two pages.
      return { agents: [...new Map(items.map(agent => [agent.id, agent])).values()], total }
    },
  })
  /** Fetches this many agents again, or all if there are fewer. */
  function load(most = wanted): Promise<void> {
    wanted = most
    return again()
  }
  return {
    agents: computed(() => value.value?.agents ?? []),
    /** Number of all agents, including those not loaded; null until known. */
    total: computed(() => value.value?.total ?? null),
    error,
    load,
  }
}
