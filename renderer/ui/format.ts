import { formatLocale, numberFormat } from '../words/number-format.ts'
import { t as shared } from '../words/en/ui.ts'

/**
 * Text of sizes, amounts and times for people, in the language of the page. Units are binary, as in Docker and the resource
 * slots. Formatters are cached: creating one costs more than a row of a list may.
 */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const dateFormats = new Map<string, Intl.DateTimeFormat>()

export function dateFormat(options: Intl.DateTimeFormatOptions, locale = formatLocale()): Intl.DateTimeFormat {
  const key = `${locale} ${JSON.stringify(options)}`
  let known = dateFormats.get(key)
  if (!known) dateFormats.set(key, (known = new Intl.DateTimeFormat(locale, options)))
  return known
}

/** `12345.678` → `12,345.68` */
export function formatNumber(value: number, maximumFractionDigits = 2, locale?: string): string {
  return numberFormat(maximumFractionDigits, locale).format(value)
}

/** Hours and the like: one decimal, and two below 1, so that a small amount is not shown as 0: `12.3`, `0.04`, `< 0.01`. */
export function formatAmount(value: number, locale?: string): string {
  if (value > 0 && value < 0.005) return `< ${formatNumber(0.01, 2, locale)}`
  return formatNumber(value, value < 1 ? 2 : 1, locale)
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

/** `a, b, and c` */
export function formatList(texts: readonly string[], locale = formatLocale()): string {
  return new Intl.ListFormat(locale, { type: 'conjunction' }).format(texts)
}

export function formatPercent(fraction: number): string {
  return `${Math.round(Math.max(0, fraction) * 100)} %`
}

/** Text of a duration in whole seconds, in its largest unit and the next one: `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  return formatSeconds(Math.floor(milliseconds / 1000))
}

/** Like `formatDuration`, for a number of seconds, which is rounded. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const parts = [
    ['days', Math.floor(whole / 86_400)],
    ['hours', Math.floor(whole / 3_600) % 24],
    ['minutes', Math.floor(whole / 60) % 60],
    ['seconds', whole % 60],
  ] as const
  const first = parts.findIndex(([, count]) => count > 0)
  if (first === -1) return shared('seconds', { count: 0 })
  const shown = parts.slice(first, first + 2).filter(([, count]) => count > 0)
  return shown.map(([unit, count]) => shared(unit, { count })).join(' ')
}

export function formatDateTime(date: Date, locale?: string): string {
  return dateFormat({ dateStyle: 'medium', timeStyle: 'medium' }, locale).format(date)
}

/** Replaces the UTC times in texts of the manager with local times. */
export function localTimes(text: string, now = new Date(), locale?: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, iso => formatStart(new Date(iso), now, locale))
}

/** Hours and minutes: `9:05 AM`, `09:05`. */
export function clockOf(locale = formatLocale()): Intl.DateTimeFormatOptions {
  const { hour12 } = dateFormat({ hour: 'numeric' }, locale).resolvedOptions()
  return { hour: hour12 ? 'numeric' : '2-digit', minute: '2-digit' }
}

/** As `formatStart`, for narrow cells whose title says more: a day of another year has no time of day. */
export function formatStartBriefly(date: Date, now: Date, locale?: string): string {
  if (date.getFullYear() === now.getFullYear()) return formatStart(date, now, locale)
  return dateFormat({ day: 'numeric', month: 'short', year: 'numeric' }, locale).format(date)
}

/** The time of day for a moment today, else its day and time. */
export function formatStart(date: Date, now: Date, locale?: string): string {
  const time = clockOf(locale)
  if (date.toDateString() === now.toDateString()) return dateFormat(time, locale).format(date)
  const year = date.getFullYear() === now.getFullYear() ? {} : ({ year: 'numeric' } as const)
  return dateFormat({ day: 'numeric', month: 'short', ...year, ...time }, locale).format(date)
}
