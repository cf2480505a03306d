import { AppError } from '#manager/contract'

/** Bounds of one query. The largest of the clients has a depth of 4, and about 60 fields. */
export const QUERY_LIMITS = { tokens: 2_000, depth: 6, fields: 300, roots: 4 } as const

/** A parsed query, as far as counting needs it: `DocumentNode` of the library, which is loaded only when it is needed. */
interface Parsed {
  readonly definitions: readonly Node[]
}
interface Node {
  readonly kind: string
  readonly name?: { readonly value: string } | undefined
  readonly selectionSet?: SelectionSet | undefined
}
interface SelectionSet {
  readonly selections: readonly Node[]
}

/**
 * Refuses a query that would cost too much, before it is validated or run.
 *
 * Threat model: anybody with a keypair sends any query. Aliases ask for the same list a thousand times, and fragments within fragments grow
 * by powers; so fields are counted where they are spread, and counting stops at the limit. A fragment that is not spread would be counted
 * nowhere, but validated, at a cost that grows with the square of its fields, so it is refused. Introspection is refused: the schema is in the
 * documentation, and its answers are large.
 *
 * @throws AppError `bad_request`
 */
export function requireModest({ definitions }: Parsed): void {
  const ofKind = (kind: string) => definitions.filter(definition => definition.kind === kind)
  const defined = ofKind('FragmentDefinition')
  const fragments = new Map(defined.map(({ name, selectionSet }) => [name?.value, selectionSet]))
  const [operation, ...others] = ofKind('OperationDefinition')
  if (!operation?.selectionSet || others.length > 0) throw refused('Send one operation with each request.')
  const spread = new Set<string>()
  let fields = 0
  let roots = 0

  function count({ selections }: SelectionSet, depth: number, within: readonly string[]): void {
    if (depth > QUERY_LIMITS.depth) throw refused(`The query is more than ${QUERY_LIMITS.depth} levels deep.`)
    for (const { kind, name: { value: name } = { value: '' }, selectionSet } of selections) {
      if (++fields > QUERY_LIMITS.fields) throw refused(`The query has more than ${QUERY_LIMITS.fields} fields.`)
      if (kind === 'FragmentSpread') countFragment(name, depth, within)
      else if (kind === 'Field') {
        checkField(name, depth)
        if (selectionSet) count(selectionSet, depth + 1, within)
      } else if (selectionSet) count(selectionSet, depth, within)
    }
  }

  function countFragment(name: string, depth: number, within: readonly string[]): void {
    if (within.includes(name)) throw refused('A fragment of the query contains itself.')
    if (within.length >= QUERY_LIMITS.depth) throw refused('The fragments of the query are nested too deeply.')
    const selectionSet = fragments.get(name)
    if (!selectionSet) return
    spread.add(name)
    count(selectionSet, depth, [...within, name])
  }

  function checkField(name: string, depth: number): void {
    if (name.startsWith('__') && name !== '__typename')
      throw refused('Introspection is off. docs/admin/backend-ai-clients.md lists what is answered.')
    if (depth === 1 && ++roots > QUERY_LIMITS.roots)
      throw refused(`Ask for at most ${QUERY_LIMITS.roots} things at once.`)
  }

  count(operation.selectionSet, 1, [])
  if (spread.size < defined.length) throw refused('The query has a fragment that it does not use, or two of one name.')
}

const refused = (why: string) => new AppError('bad_request', { why })
