import { computed, ref } from 'vue'
import { isAppError } from '#manager/contract'
import { errorText } from '../../ui/error-text.ts'
import { useNow } from '../../ui/useNow.ts'
import { retryAfterMs } from './throttle.ts'
import { t } from '../../words/en/account.ts'

/** The state of submitting one form: in flight or not, the failure, and how long the server wants us to wait. */
export function useAttempt() {
  const now = useNow()
  const busy = ref(false)
  const tried = ref(false)
  const failure = ref<unknown>(null)
  const waitUntil = ref(0)

  const waitSeconds = computed(() => Math.max(0, Math.ceil((waitUntil.value - now.value.getTime()) / 1000)))
  const failureText = computed(() => {
    if (!failure.value) return null
    const { title, why, next, code } = errorText(failure.value)
    if (code === 'rate_limited' || code === 'login_throttled') {
      if (waitSeconds.value === 0) return { code, title: t('tryAgainNowTitle'), words: '' }
      return { code, title, words: t('tryAgainIn', { seconds: waitSeconds.value }) }
    }
    return { code, title, words: why || next }
  })

  /** Runs `act`, unless an attempt is in flight or the server wants us to wait. @returns whether it succeeded */
  async function run(act: () => Promise<void>): Promise<boolean> {
    if (busy.value || waitSeconds.value > 0) return false
    busy.value = true
    failure.value = null
    try {
      await act()
      return true
    } catch (error) {
      failure.value = error
      if (isAppError(error) && (error.code === 'rate_limited' || error.code === 'login_throttled')) {
        waitUntil.value = Date.now() + retryAfterMs(error)
      }
      return false
    } finally {
      busy.value = false
    }
  }

  /** Clears the last attempt for a form that opens again. The waiting time stays. */
  function reset(): void {
    tried.value = false
    failure.value = null
  }

  return { busy, tried, failure, failureText, waitSeconds, run, reset }
}
