/** Periods that end now, in days. */
export const PERIOD_DAYS = ['1', '7', '30', '90', '365'] as const
const DAY_MS = 86_400_000
const DEFAULT_DAYS = '30'

/** A period as in the address: a number of days until now, or the first and last day in this computer's time zone, both included. */
export interface PeriodQuery {
  readonly days?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}
export type PeriodChoice = (typeof PERIOD_DAYS)[number] | 'dates'

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/

/** Midnight of a day in this computer's time zone; undefined for a text that is not a day. */
export function dayOf(text: string | undefined): Date | undefined {
  const [, year, month, day] = DAY.exec(text ?? '') ?? []
  if (year === undefined) return undefined
  const date = new Date(Number(year), Number(month) - 1, Number(day))
  return date.getMonth() === Number(month) - 1 ? date : undefined
}

export const dayText = (date: Date): string =>
  [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(part => String(part).padStart(2, '0')).join('-')

export function choiceOf({ days }: PeriodQuery): PeriodChoice {
  return days === 'dates' ? 'dates' : (PERIOD_DAYS.find(one => one === days) ?? DEFAULT_DAYS)
}

/** Begin and end of a report; undefined while the dates are not a valid period. */
export function periodOf(query: PeriodQuery, now: Date): { readonly from: string; readonly to?: string } | undefined {
  const choice = choiceOf(query)
  if (choice !== 'dates') return { from: new Date(now.getTime() - Number(choice) * DAY_MS).toISOString() }
  const [first, last] = [dayOf(query.from), dayOf(query.to)]
  if (!first || !last || first > last) return undefined
  const end = new Date(last.getFullYear(), last.getMonth(), last.getDate() + 1)
  return { from: first.toISOString(), to: end.toISOString() }
}
