import { ACCOUNT_CAUSES } from './account.ts'
import { ADMINISTRATION_CAUSES } from './administration.ts'
import { AGENT_CAUSES } from './agent.ts'
import { DOCTOR_CAUSES } from './doctor.ts'
import { isAppError } from '../errors.ts'
import { FOLDER_CAUSES } from './folder.ts'
import { HOST_CAUSES } from './host.ts'
import { LOCAL_CAUSES } from './local.ts'
import { type Placeholders } from '#base/placeholders'
import { SERVER_CAUSES } from './server.ts'
import { SESSION_CAUSES } from './session.ts'
import { SESSION_REQUEST_CAUSES } from './session-request.ts'

/**
 * Causes of errors by key, a table for each subject. The English text is the error's `why`; a client in another language shows its own
 * sentence for the key, with the same values for `{names}`; `{count, plural, one {…} other {…}}` chooses by number. Keys do not change when
 * a sentence is reworded.
 */
export const CAUSES = {
  ...ACCOUNT_CAUSES,
  ...FOLDER_CAUSES,
  ...SERVER_CAUSES,
  ...SESSION_REQUEST_CAUSES,
}

/** Causes of all parts: users see those above, administrators also the others. Keys are unique among all of them. */
const ALL = {
  ...DOCTOR_CAUSES,
  ...CAUSES,
  ...ADMINISTRATION_CAUSES,
  ...AGENT_CAUSES,
  ...HOST_CAUSES,
  ...LOCAL_CAUSES,
  ...SESSION_CAUSES,
}

export type CauseKey = keyof typeof ALL

type Values<K extends CauseKey> = [Placeholders<(typeof ALL)[K]>] extends [never]
  ? []
  : [values: { readonly [Name in Placeholders<(typeof ALL)[K]>]: string | number }]

/** A sentence of the tables for translations: its key, and the values for its `{names}`. */
export type CauseSentence = {
  readonly cause: CauseKey
  readonly values?: Record<string, string | number>
}

/**
 * The part of an error's detail with its cause: as English text, and as a key with values for translations. If a cause has several
 * sentences, the others are in `more`.
 */
export type Because = CauseSentence & { readonly why: string; readonly more?: CauseSentence[] }

/** `{name}`, `{name, number}`, or `{name, plural, one {…} other {…}}` with `#` for the number. */
const PLACE = /\{(\w+)(?:, (number)|, plural, one \{([^{}]*)\} other \{([^{}]*)\})?\}/g

type PlaceParts = [
  place: string,
  name: string,
  form: 'number' | undefined,
  one: string | undefined,
  other: string,
  ...rest: unknown[],
]

/** The cause as a part of an error's detail: `new AppError('file_exists', { name, ...because('file_there', { name }) })`. */
export function because<K extends CauseKey>(cause: K, ...[values]: Values<K>): Because {
  const given: Record<string, string | number> | undefined = values
  if (given === undefined) return { why: ALL[cause], cause }
  const text: string = ALL[cause]
  const why = text.replaceAll(PLACE, (...[_place, name, form, one, other]: PlaceParts) => {
    const value = given[name]
    if (form !== undefined) return Number(value).toLocaleString('en')
    return one === undefined ? String(value) : (value === 1 ? one : other).replaceAll('#', String(value))
  })
  return { why, cause, values: given }
}

/** A cause of several sentences. */
export function together(first: Because, ...rest: readonly Because[]): Because {
  const more = [...(first.more ?? []), ...rest.flatMap(({ why: _, more: further = [], ...one }) => [one, ...further])]
  return { ...first, why: [first, ...rest].map(({ why }) => why).join(' '), ...(more.length === 0 ? {} : { more }) }
}

/** Like `together`, for a list of sentences and the last one. */
export const inTurn = (sentences: readonly Because[], last: Because): Because =>
  sentences.reduceRight((after, sentence) => together(sentence, after), last)

export const isCauseKey = (key: string): key is CauseKey => Object.hasOwn(ALL, key)

/** The cause in an error's detail; undefined without one, and for a key that this version does not know. */
export function causeIn({ why, cause, values, more }: Readonly<Record<string, unknown>>): Because | undefined {
  if (typeof why !== 'string' || typeof cause !== 'string' || !isCauseKey(cause)) return undefined
  return { why, cause, ...(values ? { values } : {}), ...(more ? { more } : {}) } as Because
}

/** The cause of an error; undefined for an error without one. Not in `errors.ts`: pages load that, and have no table of English texts. */
export const becauseOf = (error: unknown): Because | undefined =>
  isAppError(error) ? causeIn(error.detail) : undefined
