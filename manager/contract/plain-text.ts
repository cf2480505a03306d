import { z } from 'zod'

/** One line, as people see it; the database refuses some control characters, and terminals obey others. */
export const PlainText = z.string().regex(/^\P{Cc}*$/u, 'must not hold control characters')

/** The same, of several lines. */
export const PlainLines = z.string().regex(/^[\P{Cc}\n\t]*$/u, 'must not hold control characters')
