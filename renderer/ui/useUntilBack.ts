import { onScopeDispose, watch } from 'vue'
import { createPaced } from '../api/paced.ts'

const FIRST_MS = 1_000
const BUSY_MS = 2_000

/**
 * Asks again by itself while something is away of which no hint tells when it is back, such as a storage: soon, then with longer
 * pauses, and not while the page is hidden. What is there costs no request. Ends with the component.
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
