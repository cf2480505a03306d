import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { serverNow } from '../../../api/server-clock.ts'
import { useFetched } from '../../../data/fetched.ts'
import { useServices } from '../../../services.ts'
import { RANGES, type Range, rangeQuery } from './use-chart.ts'

/** The resources that sessions held over the range in the URL. Fetched at once, in parallel with the data of the other cards. */
export function useHistory() {
  const { api } = useServices()
  const route = useRoute()
  const router = useRouter()
  const range = computed<Range>({
    get: () => RANGES.find(one => one === route.query['range']) ?? 'day',
    set: next => void router.replace({ query: { ...route.query, range: next === 'day' ? undefined : next } }),
  })

  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const { value, error, again } = useFetched({
    key: () => range.value,
    async fetch(of, signal) {
      const asked = serverNow()
      const query = { ...rangeQuery(of, asked), timeZone }
      return { items: (await api.getUsageHistory({ query, signal })).items, asked }
    },
    keeps: true,
  })
  /** Null before the first answer. */
  const items = computed(() => value.value?.items ?? null)
  /** Time of the request for the items. */
  const asked = computed(() => value.value?.asked ?? serverNow())
  return { items, asked, error, range, load: again }
}
