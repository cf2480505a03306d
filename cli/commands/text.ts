import { SLOT_NAMES, SLOTS, type WireSlots } from '#manager/contract'

/** `2 CPU, 4 GiB RAM, 1 GPU`. */
export function amounts(slots: WireSlots): string {
  const parts = SLOT_NAMES.flatMap(name => {
    const amount = slots[name]
    if (amount === undefined || Number(amount) === 0) return []
    return [`${name === 'mem' ? bytes(Number(amount)) : amount} ${SLOTS[name].label}`]
  })
  return parts.join(', ') || '–'
}

/** Text of limits: a zero counts, and a slot that is not named has no limit. */
export function limitsText(limits: WireSlots): string {
  const parts = SLOT_NAMES.flatMap(name => {
    const amount = limits[name]
    return amount === undefined ? [] : [`${name === 'mem' ? bytes(Number(amount)) : amount} ${SLOTS[name].label}`]
  })
  return parts.join(', ') || '∞'
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** Binary units with at most one decimal. */
export function bytes(count: number): string {
  const power = count < 1024 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), UNITS.length - 1)
  return `${Number((count / 1024 ** power).toFixed(1))} ${UNITS[power] ?? 'B'}`
}

/** Word of the tables for those who have limits or access; the API calls a project `group`. */
export const whoseText = (kind: string) => (kind === 'group' ? 'project' : kind)

/** `45s`, `12m`, `3h`, `2d`. */
export function age(since: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** `2026-01-31 12:00`, as clocks in a time zone show it. */
export function minuteIn(timeZone: string, time: string): string {
  // Sweden writes dates and times as ISO 8601 does.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(new Date(time))
}
