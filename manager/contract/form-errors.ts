import { z } from 'zod'

type Issue = Parameters<z.core.$ZodErrorMap>[0]

/**
 * Error message for a value that does not fit its schema; it follows the name of the field: `email: must be an e-mail
 * address, such as ada@example.org`. A message of the schema itself takes precedence.
 */
export function plainFormErrors(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${NOUNS[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return `must be ${oneOf(issue.values.map(String))}`
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1 && !issue.exact
        ? 'must not be empty'
        : bound(issue, 'at least', issue.minimum, issue.inclusive === false)
    case 'too_big':
      return bound(issue, 'at most', issue.maximum, issue.inclusive === false)
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'does not have the right form'
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'unrecognized_keys':
      return `must not have ${issue.keys.length === 1 ? 'a field' : 'the fields'} ${namesOf(issue.keys)}`
    case 'invalid_key':
      return `has a key that does not fit: ${issue.issues[0]?.message ?? 'is not valid'}`
    case 'invalid_element':
    case 'invalid_union':
    case 'custom':
      return 'is not valid'
  }
}

const MOST_NAMES = 5
const LONGEST_NAME = 64

/** The first of these names, each in quotes. A client sent them, so they may be of any number and length. */
function namesOf(names: readonly string[]): string {
  const shown = names
    .slice(0, MOST_NAMES)
    .map(name => `"${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name}"`)
  const others = names.length - shown.length
  return others === 0 ? shown.join(', ') : `${shown.join(', ')} and ${others} more`
}

/** Installs these messages for all schemas of this process; called by the manager and by the command line. */
export function sayFormErrorsPlainly(): void {
  z.config({ localeError: plainFormErrors })
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const FORMATS: Readonly<Record<string, string>> = {
  email: 'must be an e-mail address, such as ada@example.org',
  url: 'must be an address such as https://berth.example.org',
  uuid: 'must be an id',
  datetime: 'must be a time such as 2026-01-31T12:00:00Z',
  date: 'must be a date such as 2026-01-31',
}

/** `must have at least 8 characters`, `must be at most 365`. */
function bound(
  { origin, exact }: { origin?: string; exact?: boolean },
  limit: 'at least' | 'at most',
  value: number | bigint,
  isOpen: boolean,
): string {
  const unit = UNITS[origin ?? '']
  if (unit !== undefined) return `must have ${exact ? 'exactly' : limit} ${value} ${value === 1 ? unit.one : unit.many}`
  if (isOpen) return `must be ${limit === 'at least' ? 'more than' : 'less than'} ${value}`
  return `must be ${limit} ${value}`
}

const UNITS: Readonly<Record<string, { readonly one: string; readonly many: string }>> = {
  string: { one: 'character', many: 'characters' },
  array: { one: 'entry', many: 'entries' },
  set: { one: 'entry', many: 'entries' },
  record: { one: 'entry', many: 'entries' },
  map: { one: 'entry', many: 'entries' },
}

/** `fifo, lifo or drf`. */
function oneOf(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`
}
