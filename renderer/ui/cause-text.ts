import { translation } from '../words/i18n.ts'
import { localTimes } from './format.ts'

/** A text of the server in English, and as keys with values: fields `cause`, `values` and `more` of `CauseFields`. */
export interface ToldText {
  readonly cause?: unknown
  readonly values?: unknown
  readonly more?: unknown
}

/** Catalogues of causes; those of administrators are loaded with their pages. */
const FEATURES = [
  'causes',
  'session-causes',
  'host-causes',
  'local-causes',
  'admin-causes',
  'admin-agent-causes',
  'admin-doctor',
]

/** The text in the language of the page; undefined in English, without a key, and if one of its sentences is not translated. */
export function causeText({ cause, values, more }: ToldText): string | undefined {
  const further = Array.isArray(more) ? (more as readonly ToldText[]) : []
  const sentences = [{ cause, values }, ...further].map(one => sentenceText(one.cause, one.values))
  return sentences.includes(undefined) ? undefined : sentences.join(' ')
}

/** The text of a notice or of failed work; the server's English if there is no translation; undefined for none. */
export function messageText(told: Message): string
export function messageText(told: Message | null | undefined): string | undefined
export function messageText(told: Message | null | undefined): string | undefined {
  return told ? (causeText(told) ?? told.message) : undefined
}

/** Like `messageText`, for an object with several texts, each with its own field of keys. */
export const textBy = (keys: ToldText | undefined, english: string): string => causeText(keys ?? {}) ?? english

type Message = ToldText & { readonly message: string }

function sentenceText(cause: unknown, values: unknown): string | undefined {
  if (typeof cause !== 'string') return undefined
  for (const feature of FEATURES) {
    const text = translation(feature, cause, values as Readonly<Record<string, string>> | undefined)
    if (text !== undefined) return localTimes(text)
  }
  return undefined
}
