import { onScopeDispose, ref, shallowRef, watch, type Ref } from 'vue'
import { type ApiClient, isFinished, type Session } from '#manager/contract'
import { useServices } from '../../services.ts'

const FOLLOW_MS = 2000

export interface Log {
  readonly text: Ref<string | null>
  readonly truncated: Ref<boolean>
  readonly error: Ref<unknown>
  readonly loading: Ref<boolean>
  readonly load: () => Promise<void>
}

/**
 * Reads the log of a session; while `follow` is on and the session is live, reads it again every two seconds.
 * @param options `api` for callers outside of a component's setup
 */
export function useLog(
  session: Ref<Session>,
  tail: Ref<number>,
  follow: Ref<boolean>,
  options: { readonly timestamps?: boolean; readonly api?: ApiClient } = {},
): Log {
  const { timestamps = false, api = useServices().api } = options
  const text = shallowRef<string | null>(null)
  const truncated = ref(false)
  const error = ref<unknown>(null)
  const loading = ref(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  let round = 0

  async function load(): Promise<void> {
    clearTimeout(timer)
    const mine = ++round
    loading.value = true
    try {
      const query = { tail: tail.value, ...(timestamps ? { timestamps: 'true' } : {}) }
      const reply = await api.getSessionLogs({ params: { id: session.value.id }, query })
      if (mine !== round) return
      text.value = reply.text
      truncated.value = reply.truncated
      error.value = null
    } catch (cause) {
      if (mine === round) error.value = cause
    } finally {
      if (mine === round) {
        loading.value = false
        schedule()
      }
    }
  }

  function schedule(): void {
    clearTimeout(timer)
    if (!follow.value || isFinished(session.value.status)) return
    // A hidden page reads nothing; it catches up when it becomes visible.
    timer = setTimeout(() => {
      if (document.hidden) schedule()
      else void load()
    }, FOLLOW_MS)
  }

  watch(follow, schedule)
  // A change of status reads the log again: the last lines arrive with the end of the session.
  watch([() => session.value.id, () => session.value.status, tail], () => void load(), { immediate: true })
  watch(
    () => session.value.id,
    () => {
      text.value = null
    },
  )
  onScopeDispose(() => {
    round += 1
    clearTimeout(timer)
  })
  return { text, truncated, error, loading, load }
}
