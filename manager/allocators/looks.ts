import { setTimeout as wait } from 'node:timers/promises'
import { type Log } from '../log.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'

/** A loop of looks at the engine. */
export interface Looks extends AsyncDisposable {
  /** Requests a look soon. Consecutive calls share one look. */
  trigger(): void
  /** Resolves once the looks for all triggers so far are done. */
  settled(): Promise<void>
}

export interface LooksDeps {
  readonly look: () => Promise<void>
  /** Interval of the looks that nothing triggers. */
  readonly pollMs: number
  readonly signal: AbortSignal
  readonly log: Log
}

/** Shortest pause between two looks, as a part of the interval. */
const REST_SHARE = 5

/** Looks at once, then at each interval and each trigger, one look at a time. The disposer waits for the look in progress. */
export function startLooks({ look, pollMs, signal, log }: LooksDeps): Looks {
  let wanted = false
  let active = false
  let running: Promise<void> = Promise.resolve()
  const isWanted = () => wanted

  async function run(): Promise<void> {
    do {
      wanted = false
      await look().catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'a look at the allocations failed; the next one tries again')
      })
      await wait(pollMs / REST_SHARE, undefined, { signal }).catch(() => undefined)
    } while (isWanted() && !signal.aborted)
  }

  function trigger(): void {
    wanted = true
    if (active || signal.aborted) return
    active = true
    running = onBehalfOfAll(run).finally(() => {
      active = false
      if (wanted) trigger()
    })
  }

  const timer = setInterval(trigger, pollMs)
  trigger()
  return {
    trigger,
    async settled() {
      while (active) await running
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}
