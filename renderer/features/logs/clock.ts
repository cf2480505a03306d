import { language } from '../../words/i18n.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

/** Time of day to the millisecond, in the time zone of this computer. @param at milliseconds since 1970 */
export function formatClock(at: number): string {
  let format = formats.get(language.value)
  if (!format) {
    const two = '2-digit' as const
    const parts = { hour: two, minute: two, second: two, fractionalSecondDigits: 3, hourCycle: 'h23' } as const
    format = new Intl.DateTimeFormat(language.value, parts)
    formats.set(language.value, format)
  }
  return format.format(at)
}
