import { computed, onScopeDispose, shallowRef, toValue, watch, type MaybeRefOrGetter, type Ref } from 'vue'

/** Precision of a shown time; null while none is shown. */
export type Step = 'second' | 'minute' | null
const EVERY_MS = { second: 1_000, minute: 60_000 }

interface Clock {
  readonly now: Ref<Date>
  join(): () => void
}

/** Creates a timer for the whole page, which runs only while it is used. */
function createClock(everyMs: number): Clock {
  const now = shallowRef(new Date())
  let users = 0
  let timer: ReturnType<typeof setInterval> | undefined
  const tick = () => {
    now.value = new Date()
  }
  return {
    now,
    join() {
      users += 1
      tick()
      timer ??= setInterval(tick, everyMs)
      return () => {
        users -= 1
        if (users > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}

const clocks: Partial<Record<NonNullable<Step>, Clock>> = {}

/**
 * The current time. An idle page should do nothing, so request only the precision that is shown: a text in minutes needs no seconds. With
 * null the time stands still.
 */
export function useNow(step: MaybeRefOrGetter<Step> = 'second'): Readonly<Ref<Date>> {
  const joined = shallowRef<Clock>()
  const first = new Date()
  let leave: (() => void) | undefined
  watch(
    () => toValue(step),
    next => {
      leave?.()
      leave = undefined
      if (next === null) return
      const clock = (clocks[next] ??= createClock(EVERY_MS[next]))
      leave = clock.join()
      joined.value = clock
    },
    { immediate: true },
  )
  onScopeDispose(() => leave?.())
  return computed(() => joined.value?.now.value ?? first)
}
