import { z } from 'zod'
import { TextUpTo } from './plain-text.ts'
import { cleanLine, cleanLines } from '#base/clean-text'

/** Text that a peer sends and people read. Unsafe characters are removed, never refused. */
export const CleanLine = (maxLength = 500) => z.string().transform(text => cleanLine(text, maxLength))
export const CleanLines = (maxLength = 10_000) => z.string().transform(text => cleanLines(text, maxLength))

/** A name from a peer that code compares and passes on, and that is no text for people: printable ASCII without spaces. */
export const Token = (maxLength: number) => TextUpTo(maxLength).regex(/^[\x21-\x7e]+$/, 'must be printable')
