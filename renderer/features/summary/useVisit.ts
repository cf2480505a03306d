import { computed, onMounted, onUnmounted, shallowRef } from 'vue'
import { useServices } from '../../services.ts'
import { useAccount } from '../../data/account/useAccount.ts'

/**
 * The visit of the signed-in person. The manager keeps it, because people come back on another computer; it is told when
 * the page is opened, and when it is left or hidden, so that what was on the screen is not news the next time.
 */
export function useVisit() {
  const { api } = useServices()
  const account = useAccount()
  /** End of the visit before, in milliseconds since 1970; null on the first visit, undefined before the first answer. */
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
  // The page is left, too, by signing out and by a sign-in that ends: then nobody is there to ask for.
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
