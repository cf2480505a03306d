import { pino } from 'pino'

/** What everything in the manager logs to: pino's `(fields, message)`. Never secrets: no tokens, cookies or passwords. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** JSON lines on stderr; stdout belongs to the ready line. */
export function createLogger(level: string): Log {
  return pino(
    {
      level,
      base: { process: 'manager', pid: process.pid },
      // A net under the rule above, for a request object that is logged whole by mistake.
      redact: ['*.headers.cookie', '*.headers.authorization', '*.password', '*.token', '*.grant', '*.ticket'],
    },
    pino.destination({ dest: 2, sync: true }),
  )
}

/** For tests that do not look at logs. */
export const silentLog: Log = { debug: noop, info: noop, warn: noop, error: noop }

function noop(): void {
  // says nothing on purpose
}

/**
 * For lines that strangers can cause: one, and then one for as many as came meanwhile, so that nobody fills the disk.
 *
 * @returns calls what it is given with the number of those that were left out since
 */
export function createSparing(everyMs = 10_000, now: () => number = () => performance.now()) {
  let saidAt = Number.NEGATIVE_INFINITY
  let leftOut = 0
  return (say: (leftOut: number) => void): void => {
    if (now() - saidAt < everyMs) {
      leftOut++
      return
    }
    say(leftOut)
    saidAt = now()
    leftOut = 0
  }
}
