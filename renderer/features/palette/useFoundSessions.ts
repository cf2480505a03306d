import { computed, watch, type Ref } from 'vue'
import { useFetched } from '../../data/fetched.ts'
import { useServices } from '../../services.ts'
import { logError } from '../../ui/error-log.ts'

/** Pause in typing after which the server is asked. */
const PAUSE_MS = 250
const LEAST_LETTERS = 2
const MOST = 10

/** The newest finished sessions that the server finds for the typed text; all live ones are on the page already. */
export function useFoundSessions(text: Readonly<Ref<string>>) {
  const { api } = useServices()
  const { value, error } = useFetched({
    key() {
      const search = text.value.trim()
      return search.length < LEAST_LETTERS ? undefined : search
    },
    fetch: async (search, signal) =>
      (await api.listSessions({ query: { status: 'finished', search, limit: MOST }, signal })).items,
    keeps: true,
    restMs: () => PAUSE_MS,
  })
  // After a failure only these results are missing.
  watch(error, cause => cause !== null && logError(cause))
  return computed(() => value.value ?? [])
}
