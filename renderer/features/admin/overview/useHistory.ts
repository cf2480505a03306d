import { computed, ref, shallowRef, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { type UsageHistory } from '#manager/contract'
import { useServices } from '../../../services.ts'
import { RANGES, type Range, rangeQuery } from './use-chart.ts'

/** The resources that sessions held over the range of the URL. They are asked for at once, together with what the other cards show. */
export function useHistory() {
  const { api } = useServices()
  const route = useRoute()
  const router = useRouter()
  /** Null before the first answer. */
  const items = shallowRef<UsageHistory['items'] | null>(null)
  /** When the items were asked for. */
  const asked = ref(new Date())
  const error = shallowRef<unknown>(null)
  const range = computed<Range>({
    get: () => RANGES.find(one => one === route.query['range']) ?? 'day',
    set: next => void router.replace({ query: { ...route.query, range: next === 'day' ? undefined : next } }),
  })

  let round = 0
  async function load(): Promise<void> {
    const mine = ++round
    const now = new Date()
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
    error.value = null
    try {
      const answer = await api.getUsageHistory({ query: { ...rangeQuery(range.value, now), timeZone } })
      if (mine !== round) return
      items.value = answer.items
      asked.value = now
    } catch (cause) {
      if (mine === round) error.value = cause
    }
  }
  watch(range, () => void load(), { immediate: true })
  return { items, asked, error, range, load }
}
