export interface Paced {
  /** Requests a run: soon after a quiet time, later under load. `promptly`: at once, because a person waits. */
  ask(options?: { readonly promptly?: boolean }): void
  /** Drops the waiting run. A run in flight continues. */
  cancel(): void
}

export interface PacedOptions {
  /** @returns false if it failed: it is retried with back-off, or earlier when a run is requested. A throw counts as false. */
  readonly run: () => Promise<boolean>
  /** Milliseconds that the first run waits, because events of one change arrive together. */
  readonly gatherMs: number
  /** Minimum time in milliseconds between the starts of runs under load. */
  readonly busyMs: number
}

const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 30_000

/**
 * Paces a task that events trigger: one run in flight, at most one waiting. After a quiet time the first run is prompt; each
 * further run doubles the distance, up to `busyMs`.
 */
export function createPaced({ run, gatherMs, busyMs }: PacedOptions): Paced {
  let timer: ReturnType<typeof setTimeout> | undefined
  let running = false
  let askedWhileRunning = false
  let promptlyNext = false
  let startedAt = -Infinity
  let distanceMs = gatherMs
  let failures = 0

  function schedule(promptly: boolean): void {
    const sinceStart = performance.now() - startedAt
    if (sinceStart > 2 * busyMs) distanceMs = gatherMs
    const retryMs = failures === 0 ? 0 : Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1))
    const waitMs = promptly ? 0 : Math.max(gatherMs, Math.max(distanceMs, retryMs) - sinceStart)
    timer = setTimeout(() => void start(), waitMs)
  }

  async function start(): Promise<void> {
    timer = undefined
    running = true
    startedAt = performance.now()
    distanceMs = Math.min(busyMs, distanceMs * 2)
    const succeeded = await run().catch(() => false)
    running = false
    failures = succeeded ? 0 : failures + 1
    const again = askedWhileRunning || !succeeded
    const promptly = promptlyNext
    askedWhileRunning = false
    promptlyNext = false
    if (again) schedule(promptly)
  }

  return {
    ask({ promptly = false } = {}) {
      if (running) {
        askedWhileRunning = true
        promptlyNext ||= promptly
        return
      }
      // An event shows that the server answers, so the back-off of earlier failures ends.
      const isOverdue = promptly || failures > 0
      failures = 0
      if (isOverdue) {
        clearTimeout(timer)
        timer = undefined
      }
      if (timer === undefined) schedule(promptly)
    },
    cancel() {
      clearTimeout(timer)
      timer = undefined
      askedWhileRunning = false
      promptlyNext = false
      failures = 0
    },
  }
}
