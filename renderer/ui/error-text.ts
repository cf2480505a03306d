import { ERRORS, isAppError, type ErrorCode } from '#manager/contract'
import en, { t as step } from '../words/en/error-steps.ts'
import { defineTranslations } from '../words/i18n.ts'
import { causeText } from './cause-text.ts'

export interface ErrorText {
  readonly title: string
  /** The cause, with the numbers and names of this case; may be empty. */
  readonly why: string
  /** The next step that the user can take. Empty if there is none. */
  readonly next: string
  readonly retry: boolean
  readonly code: ErrorCode
}

const translatedTitle = defineTranslations<Record<ErrorCode, string>>('errors')
const hasStep = (code: ErrorCode): code is ErrorCode & keyof typeof en => Object.hasOwn(en, code)

/**
 * The text of an error: what happened, why, and the next step. An unknown failure is called unknown. Title and step come from the code, in
 * the language of the page. The cause is translated if it is in the table of causes; any other cause is the server's English.
 */
export function errorText(error: unknown): ErrorText {
  const code = isAppError(error) ? error.code : 'internal'
  const { title: english, retry } = ERRORS[code]
  const title = translatedTitle(code) ?? english
  const detail = isAppError(error) ? error.detail : {}
  const told = causeText(detail) ?? (typeof detail.why === 'string' ? detail.why : undefined)
  const why = told !== undefined && told !== english ? sentence(told) : ''
  return {
    title,
    why: why.startsWith(`${english}: `) ? sentence(why.slice(english.length + 2)) : why,
    next: detail['whySaysNext'] === true ? '' : hasStep(code) ? step(code) : retry ? step('again') : '',
    retry,
    code,
  }
}

/** The text of an error in one line, for places with little space. */
export function errorLine(error: unknown): string {
  const { title, why, next } = errorText(error)
  return [sentence(title), why, next].filter(Boolean).join(' ')
}

/** The reason alone, if the reader cannot do anything next. */
export function reasonLine(error: unknown): string {
  const { title, why } = errorText(error)
  return why || title
}

function sentence(text: string): string {
  const trimmed = text.trim()
  return /[.!?]$/.test(trimmed) || trimmed === '' ? trimmed : `${trimmed}.`
}
