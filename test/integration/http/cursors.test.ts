import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type RouteName, ROUTES, type RouteSpec } from '#manager/contract'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { type MatrixWorld, startMatrixWorld } from './matrix-world.ts'

/**
 * Every list with pages, in every order, with cursors of rows that the caller may not see. The answer is the one for a row that does not
 * exist; otherwise a caller who knows an id could compare hidden values with rows of their own. The lists come from the routes, so a new
 * one is tested without a line here.
 */
const lists = (Object.entries(ROUTES) as [RouteName, RouteSpec][]).flatMap(
  ([name, { method, path, access, query }]) => {
    if (method !== 'GET' || path.includes(':') || !(query instanceof z.ZodObject) || !('cursor' in query.shape))
      return []
    return [{ name, path, access, sorts: 'sort' in query.shape ? optionsOf(query.shape.sort as z.ZodType) : [] }]
  },
)
/** Lists whose order reads values of the row at the cursor, and in which others have rows. */
const SORTED: readonly string[] = ['listGroups', 'listKeypairs', 'listSessions', 'listUsers']

const WHO = ['user', 'domain_admin'] as const
const cases = lists.flatMap(list =>
  WHO.filter(who => list.access === 'user' || list.access === who).map(who => ({ ...list, who })),
)

let world: MatrixWorld
beforeAll(async () => {
  world = await startMatrixWorld()
  for (const person of [...Object.values(world.callers), ...Object.values(world.others)]) {
    await person.api.createKeypair({ body: { name: person.email } })
  }
})
afterAll(() => world[Symbol.asyncDispose]())

test('every list with pages is tried', () => {
  expect(lists.map(({ name }) => name)).toEqual(expect.arrayContaining([...SORTED, 'listQueue', 'listAuditLog']))
  for (const { name, sorts } of lists) if (SORTED.includes(name)) expect(sorts.length, name).toBeGreaterThan(3)
})

test.each(cases)('$name as $who: the cursor of a hidden row is one of a row that does not exist', async list => {
  const { name, path, who, sorts } = list
  const shown = await idsOf(path, world.callers[who].token)
  const hidden = (await idsOf(path, world.callers.superadmin.token)).filter(id => !shown.includes(id))
  if (SORTED.includes(name)) expect(hidden.length).toBeGreaterThan(0)
  const ask = async (sort: string | undefined, cursor: string) => {
    const query = new URLSearchParams({ limit: '500', cursor, ...(sort === undefined ? {} : { sort }) })
    const { status, json } = await get(`${path}?${String(query)}`, world.callers[who].token)
    return { status, code: json?.code, detail: json?.detail, items: json?.items, nextCursor: json?.nextCursor }
  }
  for (const id of hidden.slice(0, 4)) {
    for (const sort of sorts.length === 0 ? [undefined] : sorts) {
      // The queue says in its cursors how many rows came before.
      for (const form of ['', '1.']) {
        const unknown = await ask(sort, form + neighbourOf(id))
        expect(await ask(sort, form + id), sort ?? 'in the usual order').toEqual(unknown)
      }
    }
  }
})

/** An id of the same form that does not exist; no other id is between the two. */
function neighbourOf(id: string): string {
  const last = id.at(-1) ?? ''
  const other = ['2', '3', 'a', 'b', 'A', 'B'].find(one => kindOf(one) === kindOf(last) && one !== last) ?? ''
  return id.slice(0, -1) + other
}

const kindOf = (character: string) => [/[0-9]/, /[a-z]/].findIndex(kind => kind.test(character))

/** Ids of a list; none if it needs further query fields, or has no ids: such lists use a number of rows as cursor. */
async function idsOf(path: string, token: string): Promise<string[]> {
  const { json } = await get(`${path}?limit=500`, token)
  const items = z.array(z.record(z.string(), z.unknown())).parse(json?.items ?? [])
  return items.flatMap(({ id, accessKey = id }) => (typeof accessKey === 'string' ? [accessKey] : []))
}

const get = (path: string, token: string) =>
  rawRequest(world.cluster.url + path, { method: 'GET', headers: { authorization: `Bearer ${token}` } })

function optionsOf(type: z.ZodType): string[] {
  if (type instanceof z.ZodEnum) return type.options.map(String)
  if (type instanceof z.ZodOptional || type instanceof z.ZodDefault) return optionsOf(type.unwrap() as z.ZodType)
  throw new Error('an order of another kind')
}
