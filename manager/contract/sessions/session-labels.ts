import { z } from 'zod'
import { PlainLines, TextOf } from '../plain-text.ts'

/** Largest number of tags of one session. */
export const MOST_TAGS = 20

/**
 * Letters and digits of any language, and between them also `-`, `_`, `.`, `/` and `:`. No spaces or commas: lists of tags need no quotes.
 */
export const SESSION_TAG = /^(?=.{1,32}$)[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}._:/-]*[\p{L}\p{M}\p{N}])?$/u
export const SessionTag = TextOf(
  32,
  SESSION_TAG,
  'must be 1 to 32 letters or digits, with "-", "_", ".", "/" or ":" between them',
)

/** Words by which the owner finds the session again, in the order in which they were given. */
export const SessionTags = z
  .array(SessionTag)
  .max(MOST_TAGS)
  .refine(tags => new Set(tags).size === tags.length, 'must name each tag once')
export type SessionTags = z.infer<typeof SessionTags>

/** Text of the owner about the session. Everybody who sees the session reads it. */
export const SessionNote = PlainLines(4_000)

/** Change by the owner of a session; a key that is left out keeps its value. */
export const SessionChange = z
  .strictObject({
    tags: SessionTags.optional(),
    note: SessionNote.optional(),
    adminsMayRead: z
      .boolean()
      .optional()
      .describe('Whether administrators may read log and start-up command, for help with a problem.'),
  })
  .meta({ id: 'SessionChange' })
export type SessionChange = z.infer<typeof SessionChange>
