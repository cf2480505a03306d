import { pino } from 'pino'
import { createRecentLines } from '#manager/contract'

/** The logger of the whole manager: pino's `(fields, message)`. Never log secrets: no tokens, cookies or passwords. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** The last lines as written, oldest first; missing in logs that keep none. */
  readonly recent?: () => readonly string[]
}

/**
 * JSON lines on stderr; stdout belongs to the ready line.
 */
export function createLogger(level: string): Log {
  const recent = createRecentLines()
  const stderr = pino.destination({ dest: 2, sync: true })
  const logger = pino(
    {
      level,
      base: { process: 'manager', pid: process.pid },
      // Safety net, in case a whole request object is logged by mistake.
      redact: ['*.headers.cookie', '*.headers.authorization', '*.password', '*.token', '*.grant', '*.ticket'],
    },
    {
      write(line: string) {
        recent.add(line)
        stderr.write(line)
      },
    },
  )
  return Object.assign(logger, { recent: () => recent.list() })
}

/** Discards all lines; for tests that do not look at logs. */
export const silentLog: Log = { debug: noop, info: noop, warn: noop, error: noop }

function noop(): void {
  // Logs nothing on purpose.
}

/**
 * Rate-limits log lines that strangers can cause, so that nobody fills the disk: one line per `everyMs`, with the
 * number of lines left out since the last.
 *
 * @returns a function that calls its argument with that number, or skips the call
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
