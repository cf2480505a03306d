import { inject, onBeforeUnmount, onMounted, provide, readonly, ref, watch, type InjectionKey, type Ref } from 'vue'

/** Longest time in milliseconds that parts of a page wait for each other. */
const LONGEST_WAIT_MS = 4_000

/**
 * Lets the parts of a page appear in one frame: a part that appears later would push others away from under the pointer. After
 * `LONGEST_WAIT_MS` they no longer wait.
 *
 * @param isTold whether everything that the parts need has been answered or has failed
 * @returns whether the parts are shown; stays true
 */
export function useTogether(isTold: () => boolean): Readonly<Ref<boolean>> {
  const isThere = ref(false)
  const show = () => (isThere.value = true)
  watch(isTold, told => told && show(), { immediate: true })
  const latest = setTimeout(show, LONGEST_WAIT_MS)
  onBeforeUnmount(() => clearTimeout(latest))
  return readonly(isThere)
}

const AWAITED: InjectionKey<Ref<number>> = Symbol('awaited')

/** Like `useTogether`, for parts that fetch their own data, and report it with `useArrival`. */
export function useArrivals(): Readonly<Ref<boolean>> {
  const awaited = ref(0)
  const isMounted = ref(false)
  provide(AWAITED, awaited)
  onMounted(() => (isMounted.value = true))
  return useTogether(() => isMounted.value && awaited.value === 0)
}

/** Makes the other parts of the page wait until this one has first loaded, or has failed. */
export function useArrival(loading: Readonly<Ref<boolean>>): void {
  const awaited = inject(AWAITED, undefined)
  if (!awaited) return
  awaited.value += 1
  const stop = watch(loading, isLoading => {
    if (isLoading) return
    awaited.value -= 1
    stop()
  })
}
