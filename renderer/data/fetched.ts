import { onScopeDispose, readonly, ref, shallowRef, watch, type DeepReadonly, type Ref, type ShallowRef } from 'vue'
import { ERRORS, isAppError, type EventHint } from '#manager/contract'
import { createPaced } from '../api/paced.ts'
import { useServices } from '../services.ts'

export interface Fetched<T> {
  /** Null before the first answer, and again after a change of the key. An error leaves it as it is. */
  readonly value: Readonly<ShallowRef<T | null>>
  /** Error of the last question; null if it was answered. */
  readonly error: Readonly<Ref<unknown>>
  /** True while a question is open. */
  readonly loading: DeepReadonly<Ref<boolean>>
  /** Asks now. Resolves when this question is answered, has failed, or was overtaken by a newer one. */
  again(): Promise<void>
  /** Shows what an action has answered: open questions are from before it, so their answers are dropped. */
  put(value: T): void
}

export interface FetchedOptions<T, K> {
  /** Key of the thing that is asked for. A change asks at once; undefined asks for nothing. Left out: there is one thing only. */
  readonly key?: () => K | undefined
  /** @param signal aborted when a newer question, or the end of the page, makes the answer useless */
  readonly fetch: (key: K, signal: AbortSignal) => Promise<T>
  /** Topics of hints after which the value may be old. */
  readonly topics?: readonly EventHint['topic'][]
  /** Milliseconds after which figures without hints are asked for again, while the page is seen. */
  readonly everyMs?: number
  /** False: the owner calls `again` first. Default true: asked for at once. */
  readonly atOnce?: boolean
}

/** Milliseconds in which hints are gathered, because changes arrive in groups, and the distance of questions under load. */
const PACE = { gatherMs: 300, busyMs: 2_000 }

/**
 * A value of the manager that this component or store shows, kept current. The newest question wins, in whatever order answers arrive;
 * nothing arrives after the scope has ended. Hints are gathered; a resync of the event stream asks again; a failure is tried
 * again with back-off where its code says so (`ERRORS[code].retry`).
 */
export function useFetched<T, K = true>(options: FetchedOptions<T, K>): Fetched<T> {
  const { fetch, topics = [], everyMs, atOnce = true } = options
  const key = options.key ?? (() => true as K)
  const { events } = useServices()
  const value = shallowRef<T | null>(null)
  const error = ref<unknown>(null)
  const loading = ref(false)
  /** The newest question. */
  let open: AbortController | undefined
  /** Hints ask only for what was asked for before. */
  let isWanted = false

  function drop(): void {
    open?.abort()
    open = undefined
    loading.value = false
  }

  /** @returns false if it failed and may succeed later */
  async function ask(): Promise<boolean> {
    drop()
    const asked = key()
    if (asked === undefined) return true
    isWanted = true
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
    paced.cancel()
    if (!(await ask())) later()
  }

  const stops = [
    events.onHint(({ topic }) => {
      if (topics.includes(topic)) later()
    }),
    events.onResync(later),
    watch(key, () => {
      value.value = null
      error.value = null
      void again()
    }),
  ]
  const timer = everyMs === undefined ? undefined : setInterval(() => globalThis.document.hidden || later(), everyMs)
  onScopeDispose(() => {
    for (const stop of stops) stop()
    clearInterval(timer)
    isWanted = false
    paced.cancel()
    drop()
  })
  if (atOnce) void again()

  return {
    value,
    error,
    loading: readonly(loading),
    again,
    put(next) {
      drop()
      value.value = next
      error.value = null
    },
  }
}
