import { computed, onMounted, onUnmounted, shallowRef } from 'vue'
import { useServices } from '../../services.ts'
import { useAccount } from '../../data/account/useAccount.ts'

/**
 * The visit of the signed-in person. The manager stores it, because people come back on another computer. The page reports when it is
 * opened, left or hidden, so that events that were on the screen are not news the next time.
 */
export function useVisit() {
  const { api } = useServices()
  const account = useAccount()
  /** End of the previous visit, in milliseconds since 1970; null on the first visit, undefined before the first answer. */
  const since = shallowRef<number | null>()
  const error = shallowRef<unknown>(null)

  async function load(): Promise<void> {
    try {
      const visit = await api.recordVisit()
      since.value = visit.since === null ? null : Date.parse(visit.since)
      error.value = null
    } catch (cause) {
      error.value = cause
    }
  }
  // Signing out and an expired sign-in also leave the page: then there is nobody to fetch for.
  const again = () => {
    if (account.state === 'signed_in') void load()
  }
  onMounted(() => {
    void load()
    document.addEventListener('visibilitychange', again)
  })
  onUnmounted(() => {
    document.removeEventListener('visibilitychange', again)
    again()
  })
  return { since, error, isKnown: computed(() => since.value !== undefined || error.value !== null), load }
}
