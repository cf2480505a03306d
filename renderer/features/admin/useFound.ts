import { computed, ref, watch } from 'vue'
import { useFetched } from '../../data/fetched.ts'

/** Number of matches that a field offers. */
export const FOUND = 20
/** Pause in typing after which the server is asked. */
const PAUSE_MS = 250

/**
 * The first things that match what is typed into a field, for a choice among many.
 *
 * @param ask asks the server; an empty text stands for all
 * @param failed called when a search has failed
 * @param isWanted false: there is nothing to choose, so nothing is requested
 */
export function useFound<Thing>(
  ask: (text: string, signal: AbortSignal) => Promise<readonly Thing[]>,
  failed: (error: unknown) => void,
  isWanted = true,
) {
  const search = ref('')
  const { value, error } = useFetched({
    key: () => (isWanted ? search.value.trim() : undefined),
    fetch: ask,
    keeps: true,
    restMs: (_, before) => (before === undefined ? 0 : PAUSE_MS),
  })
  watch(error, cause => cause !== null && failed(cause))
  return { search, found: computed(() => value.value ?? []) }
}
