import { createI18n, type PathValue } from 'vue-i18n'
import { type Messages, type Parameters, type Read } from './message-types.ts'

export const LANGUAGES = ['en', 'ko'] as const
export type Language = (typeof LANGUAGES)[number]

/**
 * The texts of the page, in English until another language has been loaded. Messages arrive compiled (build/vite-words.ts): texts, and
 * functions for those with placeholders. So the page needs neither a message parser nor eval.
 */
const { global } = createI18n({
  legacy: false,
  locale: 'en',
  fallbackLocale: 'en',
  messages: {},
  missingWarn: false,
  fallbackWarn: false,
  messageResolver: findMessage,
})

/** The language of the page; texts that were read with `t` follow it. */
export const language = global.locale as { value: Language }

/** Adds the texts of a language for all features. */
export function addLanguage(name: Language, messages: Readonly<Record<string, Messages>>): void {
  global.setLocaleMessage(name, messages)
}

/**
 * The texts of a feature.
 * @param en English texts, which are in the feature's own file; other languages are loaded when chosen
 * @returns `t(key, values)`: the text in the language of the page; it changes with the language where it is read reactively
 */
export function defineWords<const M extends Messages>(feature: string, en: M): Read<M> {
  global.mergeLocaleMessage('en', { [feature]: en })
  const read = (key: string, values?: Readonly<Record<string, string | number>>) =>
    values ? global.t(`${feature}.${key}`, values) : global.t(`${feature}.${key}`)
  return read
}

/**
 * The texts of a feature whose English comes from the server.
 * @returns the text in the language of the page; undefined in English, and for a code without a text
 */
export function defineTranslations<M extends Messages>(feature: string) {
  return <K extends keyof M & string>(key: K, ...[values]: Parameters<M[K]>): string | undefined =>
    translation(feature, key, values)
}

/** Like `defineTranslations`, for a key and values that a server names, which are not known at build time. */
export function translation(
  feature: string,
  key: string,
  values?: Readonly<Record<string, string | number>>,
): string | undefined {
  const path = `${feature}.${key}`
  if (language.value === 'en' || !global.te(path, language.value)) return undefined
  return values ? global.t(path, values) : global.t(path)
}

/** The compiled message of `feature.key`: keys are flat within a feature. A text becomes a function, so that no compiler is needed. */
function findMessage(messages: unknown, path: string): PathValue {
  const dot = path.indexOf('.')
  const feature = (messages as Readonly<Record<string, Readonly<Record<string, PathValue>>>>)[path.slice(0, dot)]
  const message = feature?.[path.slice(dot + 1)] ?? null
  return typeof message === 'string' ? () => message : message
}
