import { computed, watch, type Ref } from 'vue'
import { isFinished, type Session } from '#manager/contract'
import { useServices, type Services } from '../../services.ts'
import { useFetched } from '../fetched.ts'

const FOLLOW_MS = 2000

export interface Log {
  readonly text: Readonly<Ref<string | null>>
  readonly truncated: Readonly<Ref<boolean>>
  readonly error: Readonly<Ref<unknown>>
  readonly load: () => Promise<void>
}

/**
 * Reads the log of a session; while `follow` is on and the session is live, reads it again every two seconds.
 * @param options `services` for callers outside of a component's setup
 */
export function useLog(
  session: Ref<Session>,
  tail: Ref<number>,
  follow: Ref<boolean>,
  options: {
    readonly timestamps?: boolean
    /** Role of the container; undefined: the main one. */
    readonly kernel?: Ref<string | undefined>
    readonly services?: Services
  } = {},
): Log {
  const { timestamps = false, kernel, services = useServices() } = options
  const {
    value,
    error,
    again: load,
  } = useFetched(
    {
      key: () => ({ id: session.value.id, kernel: kernel?.value }),
      fetch({ id, kernel: role }, signal) {
        const query = {
          tail: tail.value,
          ...(role === undefined ? {} : { kernel: role }),
          ...(timestamps ? { timestamps: 'true' } : {}),
        }
        return services.api.getSessionLogs({ params: { id }, query, signal })
      },
      everyMs: FOLLOW_MS,
      while: () => follow.value && !isFinished(session.value.status),
    },
    services,
  )
  // A change of status reads the log again: the last lines arrive with the end of the session.
  watch([() => session.value.status, tail], () => void load())
  const text = computed(() => value.value?.text ?? null)
  const truncated = computed(() => value.value?.truncated ?? false)
  return { text, truncated, error, load }
}
