import { onBeforeMount, onBeforeUnmount, ref, shallowRef } from 'vue'
import { type Overview, type SetUp } from '#manager/contract'
import { useServices } from '../../../services.ts'

const GATHER_MS = 1_000
/** Figures of GPUs come without hints. */
const FRESH_MS = 60_000

/** The figures of the overview, kept up to date. `error` is that of the last attempt; older figures stay beside it. */
export function useOverview() {
  const { api, events } = useServices()
  const overview = shallowRef<Overview | null>(null)
  /** Asked for when the page opens, not with every change of a session. Null for admins of a domain. */
  const setUp = shallowRef<SetUp | null>(null)
  const error = ref<unknown>(null)

  let round = 0
  async function ask(query: { readonly setUp?: 'true' }): Promise<void> {
    const mine = ++round
    try {
      const all = await api.getOverview({ query })
      setUp.value = all.setUp ?? setUp.value
      if (mine === round) overview.value = all
      error.value = null
    } catch (cause) {
      error.value = cause
    }
  }
  const refresh = () => ask({})
  const load = () => ask({ setUp: 'true' })

  let gathering: ReturnType<typeof setTimeout> | undefined
  const stops = [
    events.onHint(({ topic }) => {
      if (topic !== 'session' && topic !== 'agent' && topic !== 'resources' && topic !== 'user') return
      gathering ??= setTimeout(() => {
        gathering = undefined
        void refresh()
      }, GATHER_MS)
    }),
    events.onResync(() => void load()),
  ]
  const timer = setInterval(() => document.hidden || void refresh(), FRESH_MS)
  onBeforeMount(() => void load())
  onBeforeUnmount(() => {
    stops.forEach(stop => stop())
    clearTimeout(gathering)
    clearInterval(timer)
  })
  return { overview, setUp, error, load }
}
