import { setTimeout as delay } from 'node:timers/promises'

export interface Size {
  readonly cols: number
  readonly rows: number
}

const TRIES = 50
const BETWEEN_TRIES_MS = 100

/**
 * Sets the sizes of a terminal's window, one after the other, so that an older one never overtakes a newer one. The engine refuses a size
 * until it has started the process, which takes a while on a busy host: the newest size is retried until it is accepted.
 *
 * @param apply asks the engine once
 * @param signal ends the attempts, together with the terminal
 * @param onGivenUp called if the engine refuses every attempt
 * @returns a function that takes the next size
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
    // Reset it here, not once the promise is settled: otherwise a size that arrives in between would be lost.
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
