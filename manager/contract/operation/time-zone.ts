import { TextUpTo } from '../plain-text.ts'

/** IANA name of a time zone that this runtime knows, such as `Europe/Berlin`. */
function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    // Refuse offsets such as +01:00, because they mean the opposite in PostgreSQL.
    return /^[A-Za-z]/.test(name)
  } catch {
    return false
  }
}

export const TimeZone = TextUpTo(64).refine(isTimeZone, 'must be the name of a time zone, such as Europe/Berlin')
