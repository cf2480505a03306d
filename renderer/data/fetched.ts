import { onScopeDispose, readonly, ref, shallowRef, watch, type DeepReadonly, type Ref, type ShallowRef } from 'vue'
import { ERRORS, isAppError, type EventHint } from '#manager/contract'
import { createPaced } from '../api/paced.ts'
import { useServices, type Services } from '../services.ts'

export interface Fetched<T> {
  /** Null before the first answer and, unless `keeps` is set, after a change of the key. An error does not change it. */
  readonly value: Readonly<ShallowRef<T | null>>
  /** Error of the last request; null if it succeeded. */
  readonly error: Readonly<Ref<unknown>>
  /** True while a request is in flight, or a key waits for its request. */
  readonly loading: DeepReadonly<Ref<boolean>>
  /** Fetches now. Resolves when this request has been answered, has failed, or was superseded by a newer one. */
  readonly again: () => Promise<void>
  /**
   * Shows the result of an action. A request in flight is older than the action: its answer is dropped, and the value is fetched again.
   * @param value null if it is not known yet
   */
  readonly put: (value: T | null) => void
}

/** Event hints after which a value may be stale. */
export interface FetchedHints {
  /**
   * Topics of hints after which the value may be stale. Left out: hints do not make the value stale, and not even a resync fetches it
   * again.
   */
  readonly topics?: readonly EventHint['topic'][]
  /** Chooses among the hints of the topics. Left out: all count. */
  readonly concerns?: (hint: EventHint) => boolean
}

export interface FetchedOptions<T, K> extends FetchedHints {
  /**
   * Key of the thing to fetch: plain data, compared by content. A new key fetches; undefined fetches nothing. Left out: there is only one
   * thing.
   */
  readonly key?: () => K | undefined
  /** @param signal aborted when a newer request, or the end of the page, makes the answer useless */
  readonly fetch: (key: K, signal: AbortSignal) => Promise<T>
  /** Interval in milliseconds for figures without hints, while the page is visible and `while` allows it. */
  readonly everyMs?: number
  readonly while?: () => boolean
  /** False: nothing is fetched before the owner calls `again`. Default true. */
  readonly atOnce?: boolean
  /** True: the value stays until there is one for the new key. Default false, so that nobody takes it for that of the new key. */
  readonly keeps?: boolean
  /** Milliseconds that a key must stay unchanged before it is fetched, e.g. while somebody types. No `before`: the first key. */
  readonly restMs?: (next: K, before: K | undefined) => number
}

/** Milliseconds in which hints are gathered, because changes arrive in groups, and between requests under load. */
const PACE = { gatherMs: 300, busyMs: 2_000 }

/**
 * A value of the manager that this component or store shows, kept current. The newest request wins, in whatever order answers arrive;
 * nothing arrives after the scope has ended. Hints are gathered; a resync of the event stream fetches again; a failure is retried with
 * back-off where its code says so (`ERRORS[code].retry`).
 * @param services for callers outside of a component's setup
 */
export function useFetched<T, K = true>(
  options: FetchedOptions<T, K>,
  { events }: Pick<Services, 'events'> = useServices(),
): Fetched<T> {
  const { fetch, topics, everyMs, atOnce = true, keeps = false, restMs = () => 0 } = options
  const key = options.key ?? (() => true as K)
  const value = shallowRef<T | null>(null)
  const error = shallowRef<unknown>(null)
  const loading = ref(false)
  /** The newest request. */
  let open: AbortController | undefined
  /** True once the value was requested: hints only refresh requested values. */
  let isWanted = atOnce
  let before = key()
  let rest: ReturnType<typeof setTimeout> | undefined

  function drop(): void {
    open?.abort()
    open = undefined
    loading.value = false
  }

  /** @returns false if it failed and may succeed later */
  async function ask(): Promise<boolean> {
    clearTimeout(rest)
    drop()
    const asked = key()
    if (asked === undefined) return true
    const mine = new AbortController()
    open = mine
    loading.value = true
    try {
      const answer = await fetch(asked, mine.signal)
      if (mine.signal.aborted) return true
      value.value = answer
      error.value = null
      return true
    } catch (cause) {
      if (mine.signal.aborted) return true
      error.value = cause
      return !(isAppError(cause) && ERRORS[cause.code].retry)
    } finally {
      if (open === mine) {
        open = undefined
        loading.value = false
      }
    }
  }

  const paced = createPaced({ ...PACE, run: ask })
  const later = () => {
    if (isWanted) paced.ask()
  }
  async function again(): Promise<void> {
    isWanted = true
    paced.cancel()
    if (!(await ask())) later()
  }
  /** Clears the value at once, because nobody must take it for that of the new key; fetches when the key is settled. */
  function changed(): void {
    const next = key()
    drop()
    clearTimeout(rest)
    error.value = null
    if (!keeps || next === undefined) value.value = null
    if (next !== undefined && isWanted) {
      loading.value = true
      rest = setTimeout(() => void again(), restMs(next, before))
    }
    before = next
  }

  const stops = [
    events.onHint(hint => {
      if (topics?.includes(hint.topic) && options.concerns?.(hint) !== false) later()
    }),
    events.onResync(() => topics && later()),
  ]
  watch(() => JSON.stringify(key()), changed, { flush: 'sync' })
  const tick = () => globalThis.document.hidden || options.while?.() === false || later()
  const timer = everyMs === undefined ? undefined : setInterval(tick, everyMs)
  onScopeDispose(() => {
    for (const stop of stops) stop()
    clearInterval(timer)
    clearTimeout(rest)
    isWanted = false
    paced.cancel()
    drop()
  })
  if (atOnce) {
    if (before !== undefined && restMs(before, undefined) > 0) changed()
    else void again()
  }

  return {
    value,
    error,
    loading: readonly(loading),
    again,
    put(next) {
      const wasOpen = open !== undefined
      drop()
      value.value = next
      error.value = null
      // The request in flight may have covered more than the action has changed.
      if (wasOpen) later()
    },
  }
}
