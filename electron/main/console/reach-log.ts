/** Failures of requests to the manager, for the log: a page keeps trying, so only a change is worth a line. */
export interface ReachLog {
  failed(error: unknown): void
  answered(): void
}

export function createReachLog(log: { warn(detail: object, message: string): void }): ReachLog {
  let shown: string | undefined
  return {
    failed(error) {
      const text = innermost(error)
      if (text === shown) return
      shown = text
      log.warn({ err: error, why: text }, 'the manager does not answer')
    },
    answered() {
      if (shown === undefined) return
      shown = undefined
      log.warn({}, 'the manager answers again')
    },
  }
}

/** `fetch failed` says nothing; its cause does. */
function innermost(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? innermost(error.cause) : error.message
}
