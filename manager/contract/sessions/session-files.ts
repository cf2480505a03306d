import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'
import { FileEntry } from '../storage/files.ts'

const LONGEST_PATH = 4_096

/** Path of a file in a session. */
export const SessionPath = TextUpTo(LONGEST_PATH)
  .refine(path => path.isWellFormed() && !path.includes('\0'), 'must be text without NUL')
  .describe(
    'Absolute, or below the home. A byte of a name that is not valid UTF-8 is the character U+EF00 plus the byte: send names back as they came.',
  )

export const SessionFileListQuery = z.object({
  path: SessionPath.default(''),
  limit: z.coerce.number().int().min(1).max(1_000).default(200),
  after: TextUpTo(2_000).optional().describe('`next` of the page before.'),
})
export type SessionFileListQuery = z.infer<typeof SessionFileListQuery>

/** Entries of a directory of a session, by the bytes of their names. */
export const SessionFilePage = z
  .object({
    items: z.array(FileEntry).describe('Links as such: where they lead, the session knows.'),
    next: z.string().nullable().describe('For the next page; null at the end.'),
  })
  .meta({ id: 'SessionFilePage' })
export type SessionFilePage = z.infer<typeof SessionFilePage>
