import { z } from 'zod'
import { AppError, isAppError } from '#manager/contract'
import { originalProblem } from '../errors.ts'
import { runGraphql } from '../graphql/run.ts'
import { parseInput, readJson } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'

const Body = z.object({
  query: z.string().max(64 * 1024),
  variables: z.record(z.string().max(64), z.unknown()).default({}),
  operation_name: z.string().max(128).optional(),
  operationName: z.string().max(128).optional(),
})

/** GraphQL at its two addresses: the older one answers with the data alone. */
export const GRAPHQL_ROUTES: readonly CompatRoute[] = [
  {
    method: 'POST',
    path: '/admin/graphql',
    async handle(context) {
      const { data, errors } = await run(context)
      const [first] = errors
      if (first) throw first
      return data
    },
  },
  {
    method: 'POST',
    path: '/admin/gql',
    async handle(context) {
      const { data, errors } = await run(context)
      return errors.length === 0 ? { data, errors: null } : { data, errors: errors.map(tellError) }
    },
  },
]

async function run({ calls, sender, request }: CompatContext) {
  const { query, variables, operation_name, operationName = operation_name } = parseInput(Body, await readJson(request))
  const { data, errors = [] } = await runGraphql({ query, variables, operationName }, { calls, sender })
  return { data, errors: errors.map(({ originalError, message }) => toAppError(originalError, message)) }
}

/** An error of the API keeps its code; one of GraphQL itself, such as a variable without a value, is a wrong request. */
function toAppError(original: unknown, message: string): Error {
  if (isAppError(original)) return original
  if (original instanceof Error && original.name !== 'GraphQLError') return original
  return new AppError('bad_request', { why: message.slice(0, 300) })
}

function tellError(error: Error) {
  const { problem } = originalProblem(error)
  return { message: problem.title, extensions: { code: problem.error_code } }
}
