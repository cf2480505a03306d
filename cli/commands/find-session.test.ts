import { expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { type Connection } from '../config/connect.ts'
import { findSession } from './find-session.ts'

const ME = 'me'
const session = (id: string, ownerId: string, endedAt: string | null = null) =>
  ({ id, name: 'work', ownerId, ownerEmail: `${ownerId}@example.org`, endedAt }) as unknown as Session

/** Only the fields that the search reads. */
const seeing = (all: readonly Session[]) => {
  const listSessions = ({ query: { name, mine, limit } }: { query: Query }) => {
    const items = all.filter(
      one => (name === undefined || one.name === name) && (mine === undefined || one.ownerId === ME),
    )
    return Promise.resolve({ items: items.slice(0, limit), nextCursor: null })
  }
  return { api: { listSessions }, userId: () => Promise.resolve(ME) } as unknown as Connection
}
interface Query {
  readonly name?: string
  readonly mine?: string
  readonly limit?: number
}

test('a live session is preferred to a newer finished one of the same name', async () => {
  const found = await findSession(seeing([session('newer', ME, '2026-01-01'), session('live', ME)]), 'work')
  expect(found.id).toBe('live')
})

test("an admin's own session is preferred to those of others", async () => {
  const found = await findSession(seeing([session('theirs', 'ada'), session('mine', ME, '2026-01-01')]), 'work')
  expect(found.id).toBe('mine')
})

test('the only session of a name is found, whoever owns it', async () => {
  expect((await findSession(seeing([session('theirs', 'ada')]), 'work')).id).toBe('theirs')
})

test('a name that several others use is refused with their ids', async () => {
  const several = seeing([session('one', 'ada'), session('two', 'bob')])
  await expect(findSession(several, 'work')).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('ada@example.org (one), bob@example.org (two)') as string,
  })
})

test('an own session is found however many of its name others share', async () => {
  const shared = Array.from({ length: 300 }, (_, index) => session(`theirs-${index}`, 'eve'))
  expect((await findSession(seeing([...shared, session('mine', ME)]), 'work')).id).toBe('mine')
})

test('the start of the id of an own session is no name of somebody else’s', async () => {
  const own = session('0197a2b3-0000-7000-8000-000000000001', ME)
  const shared = { ...session('01990000-0000-7000-8000-000000000001', 'eve'), name: '0197a2b3' }
  expect(await findSession(seeing([shared, own]), '0197a2b3')).toBe(own)
  expect(await findSession(seeing([shared]), '0197a2b3')).toBe(shared)
})

test('the start of an id is searched on all pages', async () => {
  const old = session('0197a2b3-0000-7000-8000-000000000001', ME)
  const pages = [
    { items: [session('0197ffff-0000-7000-8000-000000000001', ME)], nextCursor: 'older' },
    { items: [old], nextCursor: null },
  ]
  const listSessions = ({ query }: { query: { name?: string; cursor?: string } }) =>
    Promise.resolve(
      query.name === undefined ? pages[query.cursor === undefined ? 0 : 1] : { items: [], nextCursor: null },
    )
  const connection = { api: { listSessions }, userId: () => Promise.resolve(ME) } as unknown as Connection
  expect(await findSession(connection, '0197a2b3')).toBe(old)
})

test('an unused name is not found', async () => {
  await expect(findSession(seeing([]), 'work')).rejects.toMatchObject({ code: 'session_not_found' })
})
