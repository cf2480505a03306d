import { computed, type MaybeRefOrGetter, type Ref } from 'vue'
import { serverAheadMs } from '../api/server-clock.ts'
import { type Step, useNow } from './useNow.ts'

/** The current time by the clock of the server, for what happened there: ages are right also where the clock of the browser is not. */
export function useServerNow(step: MaybeRefOrGetter<Step> = 'second'): Readonly<Ref<Date>> {
  const now = useNow(step)
  return computed(() => new Date(now.value.getTime() + serverAheadMs.value))
}
