import { z } from 'zod'
import { equalityOf, type Filter, fits, parseFilter, pathOf } from './filter.ts'
import { invalid, ScimError } from './scim-error.ts'
import { spelled, spelling } from './spelling.ts'

export type Doc = Record<string, unknown>

const MOST_OPERATIONS = 1_000
/** Longest list of a resource. */
export const MOST_ITEMS = 10_000
/** Most comparisons of items with filters in one request, which take about half a second: nobody else is served meanwhile. */
const MOST_COMPARISONS = 200_000

/** RFC 7644, section 3.5.2. Names and verbs come in any case, from Entra ID as `Replace`. */
const Patch = z.record(z.string(), z.unknown()).transform((body, context) => {
  const operations = Object.entries(body).find(([key]) => key.toLowerCase() === 'operations')?.[1]
  const parsed = z
    .array(z.object({ op: z.string().max(20), path: z.string().max(500).optional(), value: z.unknown().optional() }))
    .min(1)
    .max(MOST_OPERATIONS)
    .safeParse(operations)
  if (parsed.success) return parsed.data
  context.addIssue({ code: 'custom', message: 'Operations must be a list of operations' })
  return z.NEVER
})

/** The resource after the operations of a request. The given one stays as it is. @throws ScimError */
export function patched(doc: Doc, body: unknown): Doc {
  const parsed = Patch.safeParse(body)
  if (!parsed.success) throw new ScimError(400, 'The body needs a list Operations.', 'invalidSyntax')
  const next = structuredClone(doc)
  const work: Work = { comparisons: 0 }
  for (const { op, path, value: given } of parsed.data) {
    const verb = op.toLowerCase()
    const value = spelled(given)
    if (verb !== 'add' && verb !== 'replace' && verb !== 'remove') {
      throw new ScimError(400, `"${op.slice(0, 20)}" is no operation: add, remove or replace.`, 'invalidSyntax')
    }
    if (path === undefined) {
      if (verb === 'remove') throw new ScimError(400, 'remove needs a path.', 'noTarget')
      if (!isDoc(value)) throw invalid('Without a path, value must be an object.')
      // Entra ID names inner attributes with dots here.
      for (const [name, inner] of Object.entries(value))
        apply(next, { verb, path: parsePath(name), value: inner }, work)
    } else apply(next, { verb, path: parsePath(path), value }, work)
  }
  return next
}

interface Path {
  readonly attribute: string
  readonly filter: Filter | undefined
  readonly sub: string | undefined
}

function parsePath(text: string): Path {
  const [, head = '', filter, rest] = /^([^[\]]+)(?:\[(.*)\](?:\.([\w$-]+))?)?$/.exec(text.trim()) ?? []
  const [attribute = '', inner, ...deeper] = pathOf(head).split('.')
  if (!/^[\w$-]+$/.test(attribute) || deeper.length > 0 || attribute === '__proto__') {
    throw new ScimError(400, `"${text.slice(0, 100)}" is no path.`, 'invalidPath')
  }
  const sub = (rest ?? inner)?.toLowerCase()
  if (sub === '__proto__') throw new ScimError(400, 'That is no path.', 'invalidPath')
  return { attribute, filter: filter === undefined ? undefined : parseFilter(filter), sub }
}

const isDoc = (value: unknown): value is Doc => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The name as the resource has it, or as it would be called. */
const keyOf = (doc: Doc, name: string) => Object.keys(doc).find(key => key.toLowerCase() === name) ?? spelling(name)

const LISTS: ReadonlySet<string> = new Set(['emails', 'members'])

/** Work of one request so far. */
interface Work {
  comparisons: number
}

interface Operation {
  readonly verb: 'add' | 'replace' | 'remove'
  readonly path: Path
  readonly value: unknown
}

function apply(doc: Doc, operation: Operation, work: Work): void {
  const { verb, value, path } = operation
  const { attribute, filter, sub } = path
  const key = keyOf(doc, attribute)
  if (filter || LISTS.has(attribute)) {
    const list = changedList(listOf(doc[key]), operation, work)
    if (list.length > MOST_ITEMS) throw tooMuch(`${attribute} has at most ${MOST_ITEMS} entries.`)
    doc[key] = list
    return
  }
  if (sub === undefined) {
    if (verb === 'remove') Reflect.deleteProperty(doc, key)
    else doc[key] = isDoc(doc[key]) && isDoc(value) ? { ...doc[key], ...value } : value
    return
  }
  const inner = isDoc(doc[key]) ? doc[key] : {}
  if (verb === 'remove') Reflect.deleteProperty(inner, keyOf(inner, sub))
  else inner[keyOf(inner, sub)] = value
  doc[key] = inner
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : value === undefined || value === null ? [] : [value]
}

const tooMuch = (detail: string) => new ScimError(400, detail, 'tooMany')

function changedList(list: readonly unknown[], { verb, path, value }: Operation, work: Work): unknown[] {
  const { filter, sub } = path
  if (!filter) {
    if (verb === 'replace') return listOf(value)
    // Entra ID removes members by a value beside the path of the list.
    const named = new Set(listOf(value).map(idOf))
    const others = verb === 'remove' && value === undefined ? [] : list.filter(item => !named.has(idOf(item)))
    return verb === 'remove' ? others : [...others, ...listOf(value)]
  }
  // Okta and Entra ID remove members one by one, many in a request.
  const gone = verb === 'remove' && sub === undefined ? equalityOf(filter, ['value'])?.value.toLowerCase() : undefined
  if (gone !== undefined) return list.filter(item => comparable(idOf(item)) !== gone)
  work.comparisons += list.length * leavesOf(filter)
  if (work.comparisons > MOST_COMPARISONS) throw tooMuch('The filters of the paths are too much work for one request.')
  const found = new Set(list.filter(item => fits(filter, item)))
  if (verb === 'remove' && sub === undefined) return list.filter(item => !found.has(item))
  if (found.size === 0) {
    if (verb === 'remove') return [...list]
    // Okta and Entra ID set `emails[type eq "work"].value` where there is none yet.
    const made =
      filter.kind === 'compare' && filter.operator === 'eq' ? { [spelling(filter.path)]: filter.value } : undefined
    if (!made) throw new ScimError(400, 'Nothing matches the path.', 'noTarget')
    return [
      ...list,
      sub === undefined ? { ...made, ...(isDoc(value) ? value : { value }) } : { ...made, [spelling(sub)]: value },
    ]
  }
  return list.map(item => {
    if (!found.has(item) || !isDoc(item)) return item
    if (sub === undefined) return { ...item, ...(isDoc(value) ? value : { value }) }
    const { [keyOf(item, sub)]: _, ...rest } = item
    return verb === 'remove' ? rest : { ...rest, [spelling(sub)]: value }
  })
}

const comparable = (id: unknown) => (typeof id === 'string' ? id.toLowerCase() : id)

/** Comparisons of a filter. */
function leavesOf(filter: Filter): number {
  if ('parts' in filter) return filter.parts.reduce((sum, part) => sum + leavesOf(part), 0)
  return 'part' in filter ? leavesOf(filter.part) : 1
}

const idOf = (item: unknown) => (isDoc(item) ? item.value : item)
