import { z } from 'zod'

/** A line of text for people. It has no control characters: the database refuses some of them, and terminals obey others. */
export const PlainText = z.string().regex(/^\P{Cc}*$/u, 'must not hold control characters')

/** Several lines of text for people: line feeds and tabs are allowed, other control characters are not. */
export const PlainLines = z.string().regex(/^[\P{Cc}\n\t]*$/u, 'must not hold control characters')
