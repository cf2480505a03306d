import { expect, test } from 'vitest'
import { z } from 'zod'
import { ROUTES, type RouteSpec } from '#manager/contract'
import { strictQuery } from './strict-query.ts'

const said = (schema: z.ZodType, value: unknown) => schema.safeParse(value).error?.issues[0]?.message

const ofUsers = strictQuery(
  z
    .object({ userId: z.string().optional(), domain: z.string().optional(), limit: z.coerce.number().default(100) })
    .refine(({ userId, domain }) => !userId || !domain, 'name a user or a domain'),
)

test('a field that the query does not name is refused, with the names that it has', () => {
  expect(said(ofUsers, { user: 'u1' })).toBe('has no field "user"; it may have: userId, domain, limit')
  expect(said(ofUsers, { user: 'u1', group: 'g1' })).toBe(
    'has no fields "user", "group"; it may have: userId, domain, limit',
  )
  expect(said(strictQuery(), { user: 'u1' })).toBe('has no field "user", nor any other')
})

test('what the query says about its fields and about all of them stays', () => {
  expect(ofUsers.parse({ userId: 'u1' })).toEqual({ userId: 'u1', limit: 100 })
  expect(said(ofUsers, { userId: 'u1', domain: 'red' })).toBe('name a user or a domain')
  expect(ofUsers.safeParse({ limit: 'many' }).error?.issues[0]?.path).toEqual(['limit'])
})

test.each(Object.entries<RouteSpec>(ROUTES))('the query of %s can be made strict', (_name, { query }) => {
  expect(said(strictQuery(query), { 'no-such-field': '1' })).toBeDefined()
})
