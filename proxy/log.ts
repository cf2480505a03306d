/** The part of pino this library uses. Fields never hold grants, cookies or keys. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const nothing = () => undefined
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
