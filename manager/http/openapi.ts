import { ERRORS, type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { IDEMPOTENCY_HEADER } from './idempotency.ts'
import { answerText, operationTexts, withDefaultsInWords } from './openapi-words.ts'
import { PROBLEM_TYPE } from './problems.ts'

type Json = Record<string, unknown>
interface Operation extends Json {
  operationId?: string
  parameters?: unknown[]
  requestBody?: unknown
  responses: Record<string, Json>
}
interface Document extends Json {
  paths?: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, unknown> } & Json
}

const PROBLEM_REF = '#/components/schemas/Problem'

/**
 * Completes the document that the framework wrote from the schemas of the routes. Each operation gets its problem documents, the header
 * `Idempotency-Key` and the roles that may call it; components that nothing refers to are removed. Pure.
 */
export function completeDocument(written: object, problemSchema: unknown): Document {
  const document = structuredClone(written) as Document
  for (const operations of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(operations)) complete(operation)
  }
  const schemas = { ...inputsInWords(document.components?.schemas), Problem: problemSchema }
  return { ...document, components: { ...document.components, schemas: onlyUsed(document.paths, schemas) } }
}

function complete(operation: Operation): void {
  const route = routeOf(operation.operationId)
  if (route) Object.assign(operation, operationTexts(route))
  for (const [status, answer] of Object.entries(operation.responses)) answer.description = answerText(status)
  if (operation.parameters) operation.parameters = operation.parameters.map(withDefaultsInWords)
  if (operation.requestBody) operation.requestBody = withDefaultsInWords(operation.requestBody)
  for (const status of refusalsOf(route)) {
    operation.responses[String(status)] ??= {
      description: descriptionOf(status),
      content: { [PROBLEM_TYPE.split(';')[0] ?? '']: { schema: { $ref: PROBLEM_REF } } },
    }
  }
  if (route?.idempotencyKey) operation.parameters = [...(operation.parameters ?? []), KEY_PARAMETER]
}

/** The framework writes the schemas of input under names of their own, which end with `Input`. */
function inputsInWords(schemas: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      name.endsWith('Input') ? withDefaultsInWords(schema) : schema,
    ]),
  )
}

const KEY_PARAMETER = {
  in: 'header',
  name: IDEMPOTENCY_HEADER,
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 200 },
  description:
    'Chosen by the client, new for each request. A repeated request with the same key is carried out only once.',
}

/** Fastify adds a HEAD to a GET, and calls it by the name of the GET with `-head`. */
function routeOf(operationId = ''): RouteSpec | undefined {
  const name = operationId.replace(/-head$/, '')
  return Object.hasOwn(ROUTES, name) ? ROUTES[name as RouteName] : undefined
}

/** Statuses with which a route can refuse a request. The event stream is not in the table; it needs a sign-in and has a query. */
function refusalsOf(route: RouteSpec | undefined): number[] {
  const { access = 'user', method = 'GET', params, query, body, idempotencyKey } = route ?? { query: true }
  const changes = method !== 'GET'
  return [
    ...(params || query || body ? [400] : []),
    ...(access === 'none' && !changes ? [] : [401]),
    403,
    ...(params || body ? [404] : []),
    ...(changes ? [409, 507] : []),
    ...(body ? [413] : []),
    ...(idempotencyKey ? [422] : []),
    ...[429, 500, 503],
  ].toSorted((a, b) => a - b)
}

/** Titles of the errors with this status. */
function descriptionOf(status: number): string {
  const titles = Object.values(ERRORS).flatMap(error => (error.status === status ? error.title : []))
  return titles.length <= 3 ? titles.join('; ') : 'Refused; `code` has the reason.'
}

/** Schemas that the paths refer to, and those that these schemas refer to in turn. */
function onlyUsed(paths: unknown, schemas: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const used = new Set<string>()
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value ?? {}).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue
      used.add(name)
      visit(schemas[name])
    }
  }
  visit(paths)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
}
