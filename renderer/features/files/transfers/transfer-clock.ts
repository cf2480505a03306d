import { computed, type ComputedRef, shallowRef } from 'vue'
import { addSample, rateOf, type RateSample } from './rate.ts'

interface TransferClockDeps {
  readonly isAnyPending: () => boolean
  readonly bytesSent: () => number
}

/** Runs while files are sent: computes the rate, and makes the browser ask before the tab is closed. */
export interface TransferClock {
  /** Bytes per second; null while it is not known. */
  readonly rate: ComputedRef<ReturnType<typeof rateOf>>
  /** Starts, unless it is running. It stops by itself after the last file. */
  start(): void
}

export function createTransferClock({ isAnyPending, bytesSent }: TransferClockDeps): TransferClock {
  const samples = shallowRef<readonly RateSample[]>([])
  let timer: ReturnType<typeof setInterval> | undefined
  const warn = (event: BeforeUnloadEvent) => event.preventDefault()

  return {
    rate: computed(() => rateOf(samples.value)),
    start() {
      if (timer !== undefined) return
      samples.value = []
      window.addEventListener('beforeunload', warn)
      timer = setInterval(() => {
        samples.value = addSample(samples.value, { atMs: performance.now(), bytes: bytesSent() })
        if (isAnyPending()) return
        clearInterval(timer)
        timer = undefined
        window.removeEventListener('beforeunload', warn)
      }, 1_000)
    },
  }
}
