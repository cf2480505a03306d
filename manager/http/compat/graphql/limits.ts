import { type DocumentNode, type FragmentDefinitionNode, type SelectionSetNode } from 'graphql'
import { AppError } from '#manager/contract'

/** Bounds of one query. The largest of the clients has a depth of 4, and about 60 fields. */
export const QUERY_LIMITS = { tokens: 2_000, depth: 6, fields: 300, roots: 4 } as const

/**
 * Refuses a query that would cost too much, before it is validated or run.
 *
 * Threat model: anybody with a keypair sends any query. Aliases ask for the same list a thousand times, and fragments within fragments grow
 * by powers; so fields are counted where they are spread, and counting stops at the limit. Introspection is refused: the schema is in the
 * documentation, and its answers are large.
 *
 * @throws AppError `bad_request`
 */
export function requireModest({ definitions }: DocumentNode): void {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of definitions) if (definition.kind === 'FragmentDefinition') fragments.set(definition.name.value, definition)
  const operations = definitions.flatMap(definition => (definition.kind === 'OperationDefinition' ? [definition] : []))
  const [operation] = operations
  if (!operation || operations.length > 1) throw refused('Send one operation with each request.')
  let fields = 0
  let roots = 0

  function count({ selections }: SelectionSetNode, depth: number, within: readonly string[]): void {
    if (depth > QUERY_LIMITS.depth) throw refused(`The query is more than ${QUERY_LIMITS.depth} levels deep.`)
    for (const selection of selections) {
      if (selection.kind === 'FragmentSpread') {
        const name = selection.name.value
        const fragment = fragments.get(name)
        if (within.includes(name)) throw refused('A fragment of the query contains itself.')
        if (within.length >= QUERY_LIMITS.depth) throw refused('The fragments of the query are nested too deeply.')
        if (++fields > QUERY_LIMITS.fields) throw tooMany()
        if (fragment) count(fragment.selectionSet, depth, [...within, name])
        continue
      }
      if (++fields > QUERY_LIMITS.fields) throw tooMany()
      if (selection.kind === 'Field') {
        if (selection.name.value.startsWith('__') && selection.name.value !== '__typename')
          throw refused('Introspection is off. docs/admin/backend-ai-clients.md lists what is answered.')
        if (depth === 1 && ++roots > QUERY_LIMITS.roots) throw refused(`Ask for at most ${QUERY_LIMITS.roots} things at once.`)
        if (selection.selectionSet) count(selection.selectionSet, depth + 1, within)
      } else count(selection.selectionSet, depth, within)
    }
  }
  count(operation.selectionSet, 1, [])
}

const refused = (why: string) => new AppError('bad_request', { why })
const tooMany = () => refused(`The query has more than ${QUERY_LIMITS.fields} fields.`)
