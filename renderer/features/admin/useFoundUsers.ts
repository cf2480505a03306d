import { computed, ref, watch } from 'vue'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'

const FOUND = 20
/** Time without a key press after which the server is asked. */
const PAUSE_MS = 250

/**
 * The first active users that match what is typed into a field, for a choice among many.
 *
 * @param failed told of a search that failed
 * @param isWanted false: there is nothing to choose, so nothing is asked
 */
export function useFoundUsers(failed: (error: unknown) => void, isWanted = true) {
  const { api } = useServices()
  const search = ref('')
  const { value, error } = useFetched({
    key: () => (isWanted ? search.value.trim() : undefined),
    fetch: async (text, signal) =>
      (await api.listUsers({ query: { active: 'true', limit: FOUND, search: text || undefined }, signal })).items,
    keeps: true,
    restMs: (_, before) => (before === undefined ? 0 : PAUSE_MS),
  })
  watch(error, cause => cause !== null && failed(cause))
  return { search, users: computed(() => value.value ?? []) }
}
