import { language } from './i18n.ts'

/**
 * The locale of numbers and dates: that of the browser if it is of the page's language (`en-GB` for English), so that regions keep their
 * date formats; else the language of the page.
 */
export function formatLocale(): string {
  const preferred = globalThis.navigator.languages.find(tag => tag.split('-')[0] === language.value)
  return preferred ?? language.value
}

const formatters = new Map<string, Intl.NumberFormat>()

/** A cached formatter of numbers: creating one costs too much for a row of a list. */
export function numberFormat(maximumFractionDigits = 3, locale = formatLocale()): Intl.NumberFormat {
  const key = `${locale} ${maximumFractionDigits}`
  let known = formatters.get(key)
  if (!known) formatters.set(key, (known = new Intl.NumberFormat(locale, { maximumFractionDigits })))
  return known
}
