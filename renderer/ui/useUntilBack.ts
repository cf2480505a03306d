import { onScopeDispose, watch } from 'vue'
import { createPaced } from '../api/paced.ts'

const FIRST_MS = 1_000
const BUSY_MS = 2_000

/**
 * Fetches again and again while something is away whose return is not reported by hints, such as a storage host: soon, then with longer
 * pauses, and not while the page is hidden. While nothing is away, it sends no request. Ends with the component.
 *
 * @param isAway reactive
 */
export function useUntilBack(isAway: () => boolean, ask: () => Promise<unknown>): void {
  let isOver = false
  const again = createPaced({
    gatherMs: FIRST_MS,
    busyMs: BUSY_MS,
    async run() {
      if (isOver) return true
      if (!document.hidden) await ask()
      return !isAway()
    },
  })
  watch(isAway, away => (away ? again.ask() : again.cancel()), { immediate: true })
  onScopeDispose(() => {
    isOver = true
    again.cancel()
  })
}
