import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { type Because, causeIn } from './causes.ts'
import { toWireError } from '../errors.ts'

const Values = z.record(TextUpTo(100), z.union([TextUpTo(100_000), z.number()]))

/** Fields that accompany an English text, so that a client can show the text in another language: see `Because`. */
export const CauseFields = {
  cause: TextUpTo(100).optional().describe('Key of the text for translations; left out where there is none.'),
  values: Values.optional().describe('Values of the text, by name.'),
  more: z
    .array(z.object({ cause: TextUpTo(100), values: Values.optional() }))
    .optional()
    .describe('Further sentences of the text.'),
}

/** `CauseFields` as a separate object, for objects with several texts. */
export const TextKeys = z.object(CauseFields)
export type TextKeys = z.infer<typeof TextKeys>

/** The key and the values of a text, without the English. */
export const keysOf = ({ why: _, ...keys }: Because): TextKeys => keys

/** A message whose text has a key, so that pages show it in their language. */
export const toldBy = ({ why: message, ...key }: Because) => ({ message, ...key })

/** Like `toldBy`, with an error code. */
export const messageOf = <Code extends string>(code: Code, because: Because) => ({ code, ...toldBy(because) })

/** Why background work has failed. */
export const FailureText = z.object({ code: z.string(), message: z.string(), ...CauseFields })
export type FailureText = z.infer<typeof FailureText>

/** Converts an error to the text that is stored with the failed work. */
export function failureText(error: unknown): FailureText {
  const { code, message, detail } = toWireError(error)
  const because = causeIn(detail)
  if (!because) return { code, message: typeof detail.why === 'string' ? detail.why : message }
  const { why, ...key } = because
  return { code, message: why, ...key }
}
