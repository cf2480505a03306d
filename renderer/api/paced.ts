export interface Paced {
  /** Asks for a run: soon when it has been quiet, later under load. `promptly` is for a person who waits: at once. */
  ask(options?: { readonly promptly?: boolean }): void
  /** Forgets the run that waits. The one in flight goes on. */
  cancel(): void
}

export interface PacedOptions {
  /** @returns false if it failed: it is tried again, with back-off, or earlier when it is asked for. A throw counts the same. */
  readonly run: () => Promise<boolean>
  /** Events of one change arrive together: the first run waits this long for the others. */
  readonly gatherMs: number
  /** Under load, runs begin at least this far apart. */
  readonly busyMs: number
}

const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 30_000

/**
 * Spaces out the runs of a task that is asked for by events: one run in flight, at most one waiting. After a quiet time the
 * first run is prompt; with every further one the distance doubles, up to `busyMs`.
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
      // An event shows that the server answers: the back-off of a failure is over.
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
