import { durationText } from '#manager/contract'

/**
 * Text of sizes, amounts and times for people. Units are binary, as in Docker and the resource slots. Formatters are cached:
 * creating one costs more than a row of a list may.
 */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const formatters = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>()

function numberFormat(maximumFractionDigits: number, locale = ''): Intl.NumberFormat {
  const key = `n ${locale} ${maximumFractionDigits}`
  const known = formatters.get(key)
  if (known instanceof Intl.NumberFormat) return known
  const made = new Intl.NumberFormat(locale || undefined, { maximumFractionDigits })
  formatters.set(key, made)
  return made
}

function dateFormat(options: Intl.DateTimeFormatOptions, locale = ''): Intl.DateTimeFormat {
  const key = `d ${locale} ${JSON.stringify(options)}`
  const known = formatters.get(key)
  if (known instanceof Intl.DateTimeFormat) return known
  const made = new Intl.DateTimeFormat(locale || undefined, options)
  formatters.set(key, made)
  return made
}

/** `1536` → `1.5 KiB`; at most three significant digits. */
export function formatBytes(bytes: number, locale?: string): string {
  let value = Math.max(0, bytes)
  let unit = 0
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  const digits = value >= 100 || unit === 0 ? 0 : value >= 10 ? 1 : 2
  return `${numberFormat(digits, locale).format(value)} ${UNITS[unit] ?? 'B'}`
}

/** 1500 (1/1000 core) → `1.5`. */
export function formatCores(milli: number, locale?: string): string {
  return numberFormat(2, locale).format(milli / 1000)
}

export function formatPercent(fraction: number): string {
  return `${Math.round(Math.max(0, fraction) * 100)} %`
}

/** Text of a duration in whole seconds: `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  return durationText(Math.floor(milliseconds / 1000))
}

export function formatDateTime(date: Date, locale?: string): string {
  return dateFormat({ dateStyle: 'medium', timeStyle: 'medium' }, locale).format(date)
}

/** Replaces the UTC times in texts of the manager with local times. */
export function localTimes(text: string, now = new Date(), locale?: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, iso => formatStart(new Date(iso), now, locale))
}

/** The time of a moment today, else its day and time. */
export function formatStart(date: Date, now: Date, locale?: string): string {
  const time = { hour: '2-digit', minute: '2-digit' } as const
  if (date.toDateString() === now.toDateString()) return dateFormat(time, locale).format(date)
  const year = date.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const)
  return dateFormat({ day: 'numeric', month: 'short', ...year, ...time }, locale).format(date)
}
