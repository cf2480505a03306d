import { computed, type MaybeRefOrGetter, type Ref } from 'vue'
import { serverAheadMs } from '../api/server-clock.ts'
import { type Step, useNow } from './useNow.ts'

/** The current time by the server's clock, for events of the server: ages are correct even if the browser's clock is not. */
export function useServerNow(step: MaybeRefOrGetter<Step> = 'second'): Readonly<Ref<Date>> {
  const now = useNow(step)
  return computed(() => new Date(now.value.getTime() + serverAheadMs.value))
}
