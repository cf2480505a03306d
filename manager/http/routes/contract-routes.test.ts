import fastify, { type FastifyInstance } from 'fastify'
import { validatorCompiler } from 'fastify-type-provider-zod'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type z } from 'zod'
import { AppError, ROUTES, sayFormErrorsPlainly } from '#manager/contract'
import { silentLog } from '../../log.ts'
import { type Handlers } from '../handlers.ts'
import { createErrorHandler } from '../problems.ts'
import { createSerializerCompiler } from '../serializer.ts'
import { registerContractRoutes } from './contract-routes.ts'

/** Handlers that refuse every call, so that a request which reaches one is told from a request that its schemas refuse. */
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
