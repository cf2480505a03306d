import { STATUS_CODES } from 'node:http'
import { type Access, type RouteSpec } from '#manager/contract'

const WHO: Readonly<Record<Access, string>> = {
  none: 'Needs no sign-in.',
  user: '',
  domain_admin: 'For admins of a domain and superadmins.',
  superadmin: 'For superadmins.',
  console: '',
}
const BY_PERSON = 'Not with a keypair: it takes a sign-in with a password or a provider.'

/** Text of an operation for a list (its first sentence), and all of it with who may call it. Pure. */
export function operationTexts({ summary, access, byPerson }: Pick<RouteSpec, 'summary' | 'access' | 'byPerson'>) {
  const [first = summary] = /^.+?\.(?= [A-Z`])/s.exec(summary) ?? []
  return { summary: first, description: [summary, WHO[access], byPerson ? BY_PERSON : ''].filter(Boolean).join(' ') }
}

/** Description of a successful answer. The framework writes "Default Response" for each. */
export const answerText = (status: string) => STATUS_CODES[status] ?? 'OK'

/**
 * A JSON schema of input whose defaults are in the descriptions only. Generators of clients disagree about `default`: openapi-typescript takes it for a value that is
 * always there, and its clients would have to send it. Pure.
 */
export function withDefaultsInWords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withDefaultsInWords)
  if (!isRecord(schema)) return schema
  const { default: value, ...rest } = schema
  const entries = Object.entries(rest).map(([key, part]): [string, unknown] => {
    if (DATA.has(key)) return [key, part]
    // Below `properties` the keys are names of fields, of which one may be called `default`.
    if (key === 'properties' && isRecord(part)) return [key, eachValue(part)]
    return [key, withDefaultsInWords(part)]
  })
  const words = Object.fromEntries(entries)
  if (value === undefined) return words
  const { description = '' } = words
  if (typeof description !== 'string' || description.includes('Default: ')) return words
  return { ...words, description: [description, `Default: ${JSON.stringify(value)}.`].filter(Boolean).join(' ') }
}

/** Keys of a schema whose values are data and no schemas. */
const DATA = new Set(['const', 'enum', 'example', 'examples', 'required'])

function eachValue(properties: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, withDefaultsInWords(part)]))
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
