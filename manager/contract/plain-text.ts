import { z } from 'zod'

/**
 * A text of at most `most` characters. A longer one is refused unread: nothing that follows in the schema looks at it. Threat model: a
 * pattern over a text as long as a whole request may take a minute, in which nobody else is served. `build/checks/text-limits.test.ts`
 * keeps a maximum at the begin of every text that we receive.
 */
export const TextUpTo = (most: number, error?: string) =>
  z.string().max(most, error === undefined ? { abort: true } : { abort: true, error })

/** A text of a form that has at most `most` characters. */
export const TextOf = (most: number, form: RegExp, error?: string) => TextUpTo(most, error).regex(form, error)

/** The same as `TextUpTo`, without white space at both ends, which does not count. */
const TrimmedUpTo = (most: number) => z.string().trim().max(most, { abort: true })

const LINE = [/^\P{Cc}*$/u, 'must not hold control characters'] as const
const LINES = [/^[\P{Cc}\n\t]*$/u, 'must not hold control characters'] as const

/** A line of text for people. It has no control characters: the database refuses some of them, and terminals obey others. */
export const PlainText = (most: number) => TextUpTo(most).regex(...LINE)
export const TrimmedText = (most: number) => TrimmedUpTo(most).regex(...LINE)

/** Several lines of text for people: line feeds and tabs are allowed, other control characters are not. */
export const PlainLines = (most: number) => TextUpTo(most).regex(...LINES)
export const TrimmedLines = (most: number) => TrimmedUpTo(most).regex(...LINES)

/** A time such as `2026-01-31T12:00:00Z`; without the option in UTC. */
export const DateTime = (options?: { readonly offset: true }) => TextUpTo(64).check(z.iso.datetime(options))

export const MailAddress = TextUpTo(254).check(z.email())

/** An address of the web or of a program. */
export const WebAddress = (most: number, options?: Parameters<typeof z.url>[0]) => TextUpTo(most).check(z.url(options))
