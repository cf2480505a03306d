import { onScopeDispose, readonly, ref, shallowRef, watch, type DeepReadonly, type Ref, type ShallowRef } from 'vue'
import { ERRORS, isAppError, type EventHint } from '#manager/contract'
import { createPaced } from '../api/paced.ts'
import { useServices, type Services } from '../services.ts'

export interface Fetched<T> {
  /** Null before the first answer, and, unless it `keeps`, after a change of the key. An error leaves it as it is. */
  readonly value: Readonly<ShallowRef<T | null>>
  /** Error of the last question; null if it was answered. */
  readonly error: Readonly<Ref<unknown>>
  /** True while a question is open, or a key rests before its question. */
  readonly loading: DeepReadonly<Ref<boolean>>
  /** Asks now. Resolves when this question is answered, has failed, or was overtaken by a newer one. */
  readonly again: () => Promise<void>
  /**
   * Shows what an action has changed. A question that is open is from before it: its answer is dropped, and asked for again.
   * @param value null if it is not known yet
   */
  readonly put: (value: T | null) => void
}

/** Hints after which a value may be old. */
export interface FetchedHints {
  /** Topics of hints after which the value may be old. Left out: it does not age by itself, so that not even a resync asks again. */
  readonly topics?: readonly EventHint['topic'][]
  /** Chooses among the hints of the topics. Left out: all count. */
  readonly concerns?: (hint: EventHint) => boolean
}

export interface FetchedOptions<T, K> extends FetchedHints {
  /** Key of the thing that is asked for: plain data, compared by content. A change asks; undefined asks for nothing. Left out: there is one thing only. */
  readonly key?: () => K | undefined
  /** @param signal aborted when a newer question, or the end of the page, makes the answer useless */
  readonly fetch: (key: K, signal: AbortSignal) => Promise<T>
  /** Milliseconds after which figures without hints are asked for again, while the page is seen and `while` says so. */
  readonly everyMs?: number
  readonly while?: () => boolean
  /** False: the owner calls `again` first. Default true: asked for at once. */
  readonly atOnce?: boolean
  /** True: the value stays until there is one for the new key. Default false: nobody may take it for that of the new key. */
  readonly keeps?: boolean
  /** Milliseconds that a key has to rest before it is asked for, because somebody types. No `before`: the first one. */
  readonly restMs?: (next: K, before: K | undefined) => number
}

/** Milliseconds in which hints are gathered, because changes arrive in groups, and the distance of questions under load. */
const PACE = { gatherMs: 300, busyMs: 2_000 }

/**
 * A value of the manager that this component or store shows, kept current. The newest question wins, in whatever order answers arrive;
 * nothing arrives after the scope has ended. Hints are gathered; a resync of the event stream asks again; a failure is tried
 * again with back-off where its code says so (`ERRORS[code].retry`).
 * @param services for callers outside of a setup
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
  /** The newest question. */
  let open: AbortController | undefined
  /** Hints ask only for what was asked for before. */
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
  /** Forgets at once, because nobody may take the value for that of the new key; asks when the key is settled. */
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
      // Whatever it was asked for may be more than the action has changed.
      if (wasOpen) later()
    },
  }
}
