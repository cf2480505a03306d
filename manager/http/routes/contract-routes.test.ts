import fastify, { type FastifyInstance } from 'fastify'
import { validatorCompiler } from 'fastify-type-provider-zod'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { AppError, ROUTES, type RouteSpec, sayFormErrorsPlainly } from '#manager/contract'
import { silentLog } from '../../log.ts'
import { type Handlers } from '../handlers.ts'
import { JSON_PARTS } from '../json-parts.ts'
import { createErrorHandler } from '../problems.ts'
import { createSerializerCompiler } from '../serializer.ts'
import { createLargeAnswers } from '../large-answers.ts'
import { registerContractRoutes } from './contract-routes.ts'

/** Handlers that refuse every call, to distinguish requests that reach a handler from those that the schemas refuse. */
const reached = Object.fromEntries(
  Object.keys(ROUTES).map(name => [name, () => Promise.reject(new AppError('not_found'))]),
) as unknown as Handlers

let app: FastifyInstance
/** Schemas of the queries as the server has them, by the name of the route. */
const queries = new Map<string, z.ZodType>()
beforeAll(async () => {
  sayFormErrorsPlainly()
  app = fastify()
  app.setErrorHandler(createErrorHandler(silentLog))
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(createSerializerCompiler(silentLog))
  app.decorateRequest('credentials', null)
  app.addHook('onRoute', ({ config, schema }) => {
    const { route } = (config ?? {}) as { route?: string }
    if (route !== undefined && schema?.querystring) queries.set(route, schema.querystring as z.ZodType)
  })
  registerContractRoutes(app, {
    handlers: reached,
    once: () => Promise.reject(new Error('nobody is signed in')),
    bodyDeadlines: { lift: () => undefined, restore: () => undefined },
    largeAnswers: createLargeAnswers(),
  })
  await app.ready()
})
afterAll(() => app.close())

const ID = '01900000-0000-7000-8000-000000000001'

test.each(Object.keys(ROUTES))('%s refuses a query field that it does not have', name => {
  const refused = queries.get(name)?.safeParse({ 'no-such-field': '1' }).error?.issues ?? []
  expect(refused).toContainEqual(expect.objectContaining({ code: 'unrecognized_keys', keys: ['no-such-field'] }))
})

test('the refusal names the field, and the fields that the route has', async () => {
  const reply = await app.inject({ method: 'GET', url: '/api/v1/usage?user=somebody' })
  expect(reply.json()).toMatchObject({
    code: 'bad_request',
    detail: expect.stringContaining('query: has no field "user"; it may have: userId, groupId, domain') as string,
  })
  const several = await app.inject({ method: 'GET', url: `/api/v1/usage?userId=${ID}&domain=lab` })
  expect(several.json()).toMatchObject({ detail: 'query: name a user, a group or a domain' })
  const right = await app.inject({ method: 'GET', url: `/api/v1/usage?userId=${ID}` })
  expect(right.json()).toMatchObject({ code: 'not_found' })
})

interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
}

/** Members, objects and lists of the largest body that a schema accepts, without those of records. Nested lists count as one entry. */
function mostParts(schema: Schema, root: unknown, isInList = false): number {
  if (schema.$ref !== undefined) {
    const at = schema.$ref.split('/').slice(1)
    return mostParts(at.reduce((node, key) => (node as Record<string, unknown>)[key], root) as Schema, root, isInList)
  }
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return Math.max(...choices.map(choice => mostParts(choice, root, isInList)))
  if (schema.items) {
    const entry = mostParts(schema.items, root, true)
    return 1 + (entry === 0 ? 0 : entry * (isInList ? 1 : (schema.maxItems ?? Infinity)))
  }
  const members = Object.values(schema.properties ?? {})
  return members.reduce((sum, member) => sum + 1 + mostParts(member, root, isInList), members.length > 0 ? 1 : 0)
}

/** Routes with bodies from people; the console itself sends the others. */
const BODIES = Object.entries<RouteSpec>(ROUTES).filter(([, { body, access }]) => body && access !== 'console')

test.each(BODIES)(
  'a body that the schema of %s accepts has not too many parts',
  (_name, { body, access, jsonParts = access === 'none' ? JSON_PARTS.stranger : JSON_PARTS.usual }) => {
    const root = z.toJSONSchema(body as z.ZodType, { unrepresentable: 'any', io: 'input' })
    expect(mostParts(root as Schema, root)).toBeLessThanOrEqual(jsonParts)
  },
)

test('a body with thousands of wrong fields gets a short answer', async () => {
  const wrong = Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`${n}-${'x'.repeat(100)}`, 1]))
  const reply = await app.inject({ method: 'POST', url: '/api/v1/auth/login', payload: wrong })
  expect(reply.json()).toMatchObject({ code: 'bad_request' })
  expect(reply.body).toContain('and 85 more')
  expect(reply.body.length).toBeLessThan(2_000)
  const environ = Object.fromEntries(Array.from({ length: 19_000 }, (_, n) => [`1${n}`, 1]))
  const many = await app.inject({ method: 'POST', url: '/api/v1/sessions/what-if', payload: { image: 'x', environ } })
  const { data } = many.json<{ data: { fields: unknown[]; count: number } }>()
  expect(data.fields).toHaveLength(20)
  expect(many.body.length).toBeLessThan(10_000)
  const long = await app.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { email: 'x'.repeat(20_000) } })
  expect(long.json()).toMatchObject({ code: 'body_too_large', detail: expect.stringContaining('16 KiB') as string })
})
