import { t } from '../../words/en/launch.ts'

const YEAR_MS = 365 * 86_400_000

/** The mistake in a start time from such a field. An empty text is valid: the session starts as soon as there is capacity. */
export function startFault(text: string, now = Date.now()): string {
  if (text === '') return ''
  const at = new Date(text).getTime()
  if (Number.isNaN(at)) return t('notTime')
  if (at <= now) return t('timePassed')
  return at - now > YEAR_MS ? t('withinYear') : ''
}
