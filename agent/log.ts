import { pino } from 'pino'

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
 */
export function createLog(level: string): Log {
  return pino(
    { name: 'agent', level, redact: ['*.token', '*.dataToken', '*.privateKey', '*.environ', '*.secret'] },
    pino.destination({ dest: 2, sync: true }),
  )
}
