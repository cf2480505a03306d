import { InvalidArgumentError } from 'commander'
import { parseDuration } from '#base/duration'

const LOCAL = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)$/

/**
 * Reads a time, such as the start of a session: an ISO time (`2026-05-04T18:00Z`), a time without a zone (`2026-05-04 18:00`), which is
 * local, the next time of day (`18:00`), or `+` and a duration from now (`+2h`).
 *
 * @returns ISO 8601 in UTC
 */
export function parseMoment(text: string, now = new Date()): string {
  const wanted = text.trim()
  const duration = wanted.startsWith('+') ? parseDuration(wanted.slice(1)) : undefined
  if (duration !== undefined) return new Date(now.getTime() + duration * 1000).toISOString()
  if (/^([01]?\d|2[0-3]):[0-5]\d$/.test(wanted)) return nextTimeOfDay(wanted, now).toISOString()
  const local = LOCAL.exec(wanted)
  const at = local ? new Date(`${local[1] ?? ''}T${local[2] ?? ''}`) : new Date(wanted)
  if (isDate(wanted) && !Number.isNaN(at.getTime())) return at.toISOString()
  throw new InvalidArgumentError('The value must be a time such as "2026-05-04 18:00", 18:00 or +2h.')
}

/** Whether the text begins with a date that exists: `Date` takes 31 April for 1 May. */
function isDate(text: string): boolean {
  const date = /^\d{4}-\d\d-\d\d/.exec(text)?.[0]
  const midnight = date === undefined ? undefined : new Date(`${date}T00:00:00Z`)
  return midnight !== undefined && !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date ?? '')
}

function nextTimeOfDay(text: string, now: Date): Date {
  const [hours, minutes] = text.split(':').map(Number)
  const at = new Date(now)
  at.setHours(hours ?? 0, minutes ?? 0, 0, 0)
  if (at <= now) at.setDate(at.getDate() + 1)
  return at
}
