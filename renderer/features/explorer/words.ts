import { IntlMessageFormat } from 'intl-messageformat'
import en from '../../words/en/explorer.ts'

export type WordKey = keyof typeof en
const formats = new Map<WordKey, IntlMessageFormat>()

/** Text of the explorer. */
export function t(key: WordKey, values: Readonly<Record<string, string | number>> = {}): string {
  let format = formats.get(key)
  if (!format) formats.set(key, (format = new IntlMessageFormat(en[key], 'en', undefined, { ignoreTag: true })))
  return String(format.format(values))
}
