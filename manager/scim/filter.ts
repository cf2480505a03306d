import { hasUnstorableText } from '../store/storable-text.ts'
import { ScimError } from './scim-error.ts'

/** A filter of RFC 7644, section 3.4.2.2. Names of attributes are in small letters, without the URN of a schema. */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  | { readonly kind: 'present'; readonly path: string }
  | { readonly kind: 'compare'; readonly path: string; readonly operator: Operator; readonly value: Value }
  /** `emails[type eq "work"]` */
  | { readonly kind: 'within'; readonly path: string; readonly part: Filter }

type Value = string | number | boolean | null
const OPERATORS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
type Operator = (typeof OPERATORS)[number]

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([()[\]])|([^\s()[\]"]+))/y
/** A filter names a few attributes; nested parentheses are followed by calls. */
const MOST_TOKENS = 200
const URN = /^urn:ietf:params:scim:schemas:(?:core|extension):[\w:.]*?:(?:user|group):/i

/** @throws ScimError `invalidFilter` */
export function parseFilter(text: string): Filter {
  const tokens = tokensOf(text)
  let at = 0
  const fault = () => new ScimError(400, 'The filter cannot be read.', 'invalidFilter')
  const isWord = (word: string) => tokens[at]?.toLowerCase() === word

  function any(): Filter {
    const parts = [all()]
    while (isWord('or')) {
      at += 1
      parts.push(all())
    }
    const [only] = parts
    return parts.length === 1 && only ? only : { kind: 'or', parts }
  }

  function all(): Filter {
    const parts = [one()]
    while (isWord('and')) {
      at += 1
      parts.push(one())
    }
    const [only] = parts
    return parts.length === 1 && only ? only : { kind: 'and', parts }
  }

  function enclosed(close: string): Filter {
    at += 1
    const part = any()
    if (tokens[at] !== close) throw fault()
    at += 1
    return part
  }

  function one(): Filter {
    if (isWord('not') && tokens[at + 1] === '(') {
      at += 1
      return { kind: 'not', part: enclosed(')') }
    }
    if (tokens[at] === '(') return enclosed(')')
    const name = tokens[at]
    if (name === undefined || !/^[\w$:.-]+$/.test(name)) throw fault()
    const path = pathOf(name)
    at += 1
    if (tokens[at] === '[') {
      const part = enclosed(']')
      // Entra ID: `emails[type eq "work"].value eq "ada@example.org"`, of one entry of the list.
      const inner = /^\.([\w$-]+)$/.exec(tokens[at] ?? '')?.[1]?.toLowerCase()
      if (inner === undefined) return { kind: 'within', path, part }
      at += 1
      return { kind: 'within', path, part: { kind: 'and', parts: [part, compared(inner)] } }
    }
    return compared(path)
  }

  function compared(path: string): Filter {
    const operator = tokens[at]?.toLowerCase()
    at += 1
    if (operator === 'pr') return { kind: 'present', path }
    const known = OPERATORS.find(candidate => candidate === operator)
    const literal = tokens[at]
    if (!known || literal === undefined) throw fault()
    at += 1
    return { kind: 'compare', path, operator: known, value: valueOf(literal) }
  }

  function valueOf(literal: string): Value {
    // Nothing has such a text, and the database cannot be asked for it.
    if (hasUnstorableText(literal)) throw fault()
    try {
      const value: unknown = JSON.parse(/^(true|false|null)$/i.test(literal) ? literal.toLowerCase() : literal)
      if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Value
    } catch {
      // Refused below.
    }
    throw fault()
  }

  const filter = any()
  if (at !== tokens.length) throw fault()
  return filter
}

/** The path without the URN of a schema, in small letters. */
export const pathOf = (name: string) => name.replace(URN, '').toLowerCase()

function tokensOf(text: string): string[] {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const found = TOKEN.exec(text)
    const token = found?.[1] ?? found?.[2] ?? found?.[3]
    if (token === undefined || tokens.length >= MOST_TOKENS) {
      throw new ScimError(400, 'The filter cannot be read.', 'invalidFilter')
    }
    tokens.push(token)
  }
  return tokens
}

/** Whether a resource, or one value of a list, fits a filter. */
export function fits(filter: Filter, thing: unknown): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every(part => fits(part, thing))
    case 'or':
      return filter.parts.some(part => fits(part, thing))
    case 'not':
      return !fits(filter.part, thing)
    case 'present':
      return valuesAt(thing, filter.path).some(value => value !== null && value !== '')
    case 'within':
      return valuesAt(thing, filter.path).some(value => fits(filter.part, value))
    case 'compare': {
      const { operator, value: wanted } = filter
      const isCaseExact = /^(id|externalid|meta\..*|members\.value)$/.test(filter.path)
      const found = valuesAt(thing, filter.path).map(value =>
        typeof value === 'object' && value !== null && 'value' in value ? value.value : value,
      )
      if (operator === 'ne') return !found.some(value => compare(value, 'eq', wanted, isCaseExact))
      return found.some(value => compare(value, operator, wanted, isCaseExact))
    }
  }
}

function compare(value: unknown, operator: Operator, wanted: Value, isCaseExact: boolean): boolean {
  // Clients send booleans as texts.
  if (typeof value === 'boolean') return operator === 'eq' && String(value) === String(wanted).toLowerCase()
  if (typeof value !== 'string' || typeof wanted !== 'string') return operator === 'eq' && value === wanted
  const [a, b] = isCaseExact ? [value, wanted] : [value.toLowerCase(), wanted.toLowerCase()]
  switch (operator) {
    case 'eq':
      return a === b
    case 'ne':
      return a !== b
    case 'co':
      return a.includes(b)
    case 'sw':
      return a.startsWith(b)
    case 'ew':
      return a.endsWith(b)
    case 'gt':
      return a > b
    case 'ge':
      return a >= b
    case 'lt':
      return a < b
    case 'le':
      return a <= b
  }
}

/** Values at a path such as `name.familyname`; those of a list are its values. */
function valuesAt(thing: unknown, path: string): unknown[] {
  let found: unknown[] = [thing]
  for (const step of path.split('.')) {
    found = found.flatMap(value => {
      if (typeof value !== 'object' || value === null) return []
      const key = Object.keys(value).find(name => name.toLowerCase() === step)
      const next = key === undefined ? undefined : (value as Record<string, unknown>)[key]
      return Array.isArray(next) ? (next as unknown[]) : next === undefined ? [] : [next]
    })
  }
  return found
}

/** The comparison of one attribute that SQL can make, if the filter is nothing else. */
export function equalityOf<A extends string>(
  filter: Filter | undefined,
  attributes: readonly A[],
): { readonly attribute: A; readonly value: string } | undefined {
  if (filter?.kind !== 'compare' || filter.operator !== 'eq' || typeof filter.value !== 'string') return undefined
  const attribute = attributes.find(name => name === filter.path)
  return attribute && { attribute, value: filter.value }
}
