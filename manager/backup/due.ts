/** Daily schedule of backups: a time of day in a time zone. */
export interface DailyTime {
  /** `HH:MM`. */
  readonly at: string
  /** IANA name. */
  readonly timeZone: string
}

const DAY_MS = 86_400_000

/** The last due time up to `now`, and the next one after it. All are milliseconds since 1970. */
export function dueTimes(now: number, { at, timeZone }: DailyTime): { readonly last: number; readonly next: number } {
  const wall = wallClock(timeZone)
  const [hours = 0, minutes = 0] = at.split(':').map(Number)
  const today = Math.floor(wall(now) / DAY_MS) * DAY_MS
  const times = [-2, -1, 0, 1, 2].map(day => instantOf(today + day * DAY_MS + (hours * 60 + minutes) * 60_000, wall))
  return {
    last: Math.max(...times.filter(time => time <= now)),
    next: Math.min(...times.filter(time => time > now)),
  }
}

/** Returns a function from an instant to the local time in a zone, as if that were UTC. */
function wallClock(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-u-ca-iso8601', {
    timeZone,
    hourCycle: 'h23',
    ...({ year: 'numeric', month: 'numeric', day: 'numeric' } as const),
    ...({ hour: 'numeric', minute: 'numeric', second: 'numeric' } as const),
  })
  return instant => {
    const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
    return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  }
}

/**
 * The instant at which local clocks show `shown`. If they show a time twice, the earlier instant; a skipped time is moved later by the
 * skipped amount.
 */
function instantOf(shown: number, wall: (instant: number) => number): number {
  const offsetAt = (instant: number) => wall(instant) - instant
  const before = shown - offsetAt(shown - DAY_MS)
  const after = shown - offsetAt(shown + DAY_MS)
  return [before, after].find(instant => wall(instant) === shown) ?? before
}
