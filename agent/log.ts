import { pino } from 'pino'
import { createRecentLines, type RecentLines } from '#manager/contract'

/** The part of a pino logger that the agent uses. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * JSON lines on standard error. Keys, tokens and environments are never logged; redaction removes those that slip in with an
 * object.
 *
 * @param recent keeps the last lines, for the diagnostics
 */
export function createLog(level: string, recent: RecentLines = createRecentLines()): Log {
  const stderr = pino.destination({ dest: 2, sync: true })
  return pino(
    { name: 'agent', level, redact: ['*.token', '*.dataToken', '*.privateKey', '*.environ', '*.secret'] },
    {
      write(line: string) {
        recent.add(line)
        stderr.write(line)
      },
    },
  )
}
