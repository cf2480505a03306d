import { computed, onScopeDispose } from 'vue'
import { type Overview } from '#manager/contract'
import { useFetched } from '../../../data/fetched.ts'
import { useServices } from '../../../services.ts'

/** The figures of the overview, kept up to date. `error` is that of the last attempt; older figures stay beside it. */
export function useOverview() {
  const { api, events } = useServices()
  /** Missing parts of the set-up are fetched when the page opens, not after every change of a session. */
  let asksSetUp = true
  onScopeDispose(events.onResync(() => (asksSetUp = true)))
  const {
    value: overview,
    error,
    again,
    put,
  } = useFetched<Overview>({
    async fetch(_, signal): Promise<Overview> {
      const all = await api.getOverview({ query: asksSetUp ? { setUp: 'true' } : {}, signal })
      if (!signal.aborted) asksSetUp = false
      return { ...all, setUp: all.setUp ?? overview.value?.setUp ?? null }
    },
    topics: ['session', 'agent', 'resources', 'user'],
    // There are no hints about figures of GPUs.
    everyMs: 60_000,
  })
  /** Null for admins of a domain. */
  const setUp = computed(() => overview.value?.setUp ?? null)
  const load = () => {
    asksSetUp = true
    return again()
  }
  return { overview, setUp, error, load, put }
}
