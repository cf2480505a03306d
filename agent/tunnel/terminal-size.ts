import { setTimeout as delay } from 'node:timers/promises'

export interface Size {
  readonly cols: number
  readonly rows: number
}

const TRIES = 50
const BETWEEN_TRIES_MS = 100

/**
 * Gives a terminal the sizes of its window, one after the other, so that none overtakes a newer one. The engine refuses a size until it
 * has started the process, which takes a while on a busy host: the newest size is tried again until it is taken.
 *
 * @param apply asks the engine once
 * @param signal ends the tries, together with the terminal
 * @param onGivenUp told if the engine refuses every try
 * @returns takes the next size
 */
export function followSize(
  apply: (size: Size) => Promise<unknown>,
  signal: AbortSignal,
  onGivenUp: (error: unknown) => void,
  betweenTriesMs = BETWEEN_TRIES_MS,
): (size: Size) => void {
  let wanted: Size | undefined
  let isRunning = false

  async function run(): Promise<void> {
    let tries = 0
    while (wanted && !signal.aborted) {
      const size = wanted
      try {
        await apply(size)
        tries = 0
        if (wanted === size) wanted = undefined
      } catch (error) {
        if (++tries >= TRIES) throw error
        await delay(betweenTriesMs, undefined, { signal })
      }
    }
    // Here, and not once the promise is settled: a size that comes in between would be left.
    isRunning = false
  }

  return size => {
    wanted = size
    if (isRunning) return
    isRunning = true
    run().catch((error: unknown) => {
      isRunning = false
      if (!signal.aborted) onGivenUp(error)
    })
  }
}
