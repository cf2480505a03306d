import { type GraphQLSchema, type ExecutionResult } from 'graphql'
import { AppError } from '#manager/contract'
import { type GraphqlContext } from './context.ts'
import { QUERY_LIMITS, requireModest } from './limits.ts'
import { MUTATIONS } from './mutations.ts'
import { QUERIES } from './queries.ts'
import { SCHEMA } from './schema.ts'

export interface GraphqlQuery {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  readonly operationName?: string | undefined
}

/** Resolvers of the top level. They are called with the arguments of the query, as the schema says. */
const ROOT: unknown = { ...QUERIES, ...MUTATIONS }

/** Loaded with the first query: most managers never get one. */
async function load() {
  const library = await import('graphql')
  const schema: GraphQLSchema = library.buildSchema(SCHEMA, { noLocation: true })
  // Each version of the clients declares its variables by types of its own; values are checked against these and used as they are.
  const rules = library.specifiedRules.filter(rule => rule !== library.VariablesInAllowedPositionRule)
  return { ...library, schema, rules }
}
let loading: ReturnType<typeof load> | undefined

/** Runs a query. @throws AppError `bad_request` for one that is not valid or too large */
export async function runGraphql(
  { query, variables, operationName }: GraphqlQuery,
  context: GraphqlContext,
): Promise<ExecutionResult> {
  const { parse, validate, execute, schema, rules, GraphQLError } = await (loading ??= load())
  let document
  try {
    document = parse(query, { maxLexicalTokens: QUERY_LIMITS.tokens, noLocation: true })
  } catch (error) {
    if (error instanceof GraphQLError) throw new AppError('bad_request', { why: error.message.slice(0, 300) })
    throw error
  }
  requireModest(document)
  const [wrong] = validate(schema, document, rules, { maxErrors: 1 })
  if (wrong) throw new AppError('bad_request', { why: wrong.message.slice(0, 300) })
  return await execute({
    schema,
    document,
    rootValue: ROOT,
    contextValue: context,
    variableValues: variables,
    operationName: operationName ?? null,
  })
}
