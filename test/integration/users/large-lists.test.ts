import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { apiOf } from '../../fixtures/manager.ts'
import { type ManagerProcess, type Managers, startManagers } from '../../fixtures/managers.ts'
import { ScriptedAgent } from '../../fixtures/scripted-agent.ts'

/**
 * A request may store a megabyte, and lists read what a person has stored whole: one member must not keep the others waiting with it. An
 * answer of the database that takes longer than its limit closes the connections for everybody.
 */

let world: AsyncDisposableStack
let managers: Managers
let manager: ManagerProcess
let store: Store
let admin: string
let member: string
let other: string
beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  managers = opening.use(await startManagers())
  manager = await managers.spawn()
  store = opening.use(await openToRead({ dataDir: '/nowhere', databaseUrl: managers.databaseUrl, log: silentLog }))
  const { api, token } = await managers.admin(manager)
  admin = token
  const password = 'Their-own-pass-1'
  const signIn = async (email: string) => {
    await api.createUser({ body: { mustChangePassword: false, email, name: email, password } })
    return (await apiOf(manager.url).login({ body: { email, password, kind: 'token' } })).token ?? ''
  }
  member = await signIn('member@example.org')
  other = await signIn('other@example.org')
  opening.use(await new ScriptedAgent({ url: manager.url, join: (await manager.createJoinToken()).join }).connect())
  await vi.waitFor(async () => expect((await api.listImages()).items).not.toEqual([]), { timeout: 20_000 })
  world = opening.move()
})
afterAll(() => world.disposeAsync())

/** Nearly a megabyte that does not compress, in one request. */
const environ = () =>
  Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`V${n}`, randomBytes(24_000).toString('base64')]))

/** Reads an answer and keeps nothing of it. @returns its status, 0 where the connection was cut */
function read(path: string, as: string): Promise<{ status: number; bytes: number; ms: number }> {
  const began = performance.now()
  return new Promise(resolve => {
    let bytes = 0
    const end = (status: number) => resolve({ status, bytes, ms: Math.round(performance.now() - began) })
    const sent = request(`${manager.url}${path}`, { headers: { authorization: `Bearer ${as}` } }, answer => {
      answer.on('data', (chunk: Buffer) => (bytes += chunk.length))
      answer.on('end', () => end(answer.statusCode ?? 0))
      answer.on('error', () => end(0))
    })
    sent.on('error', () => end(0))
    sent.end()
  })
}

/** What somebody else sees for so long, while one member (or an administrator) reads a list again and again, so many times at once. */
async function whileReading(path: string, as: string, times: number, forMs: number) {
  const until = performance.now() + forMs
  const lists: { status: number; bytes: number; ms: number }[] = []
  const readers = Array.from({ length: times }, async () => {
    while (performance.now() < until) {
      lists.push(await read(path, as))
      await delay(50)
    }
  })
  const seen: { status: number; ms: number }[] = []
  while (performance.now() < until) {
    seen.push(await read('/api/v1/me', other))
    await delay(100)
  }
  await Promise.all(readers)
  const sorted = seen.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const result = {
    asked: seen.length,
    refused: seen.filter(({ status }) => status !== 200).length,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    longestMs: sorted.at(-1) ?? 0,
  }
  const first = lists.slice(0, 3).map(({ status, bytes, ms }) => `${status} ${bytes} B ${ms} ms`)
  console.log(path, `×${times}`, result, 'lists', lists.length, first.join('; '))
  return result
}

test('templates of one member', async () => {
  const body = { image: 'berth/python:3.13', environ: environ() }
  await apiOf(manager.url, member).saveSessionTemplate({ params: { name: 't0' }, body })
  await whileReading('/api/v1/session-templates', member, 4, 10_000)
  // The rest of the hundred that the limit allows, as so many calls would store them.
  await sql`insert into session_templates (user_id, name, spec)
    select user_id, 't' || n, spec from session_templates, generate_series(1, 99) n`.execute(store.db)
  const { refused, longestMs } = await whileReading('/api/v1/session-templates', member, 4, 30_000)
  await sql`delete from session_templates`.execute(store.db)
  expect(refused).toBe(0)
  expect(longestMs).toBeLessThan(5_000)
})

test('sessions of one member that wait: a page of the list, as the member and then a superadmin read it', async () => {
  await vi.waitFor(async () => expect((await read('/api/v1/me', other)).status).toBe(200), { timeout: 30_000 })
  const startsAt = new Date(Date.now() + 86_400_000).toISOString()
  const later = { image: 'berth/python:3.13', startsAt }
  const api = apiOf(manager.url, member)
  for (let made = 0; made < 2; made++) await api.createSession({ body: { ...later, count: 50 } })
  const calm = await whileReading('/api/v1/sessions?limit=100', admin, 4, 10_000)
  expect(calm.refused).toBe(0)
  const { items } = await api.createSession({ body: { ...later, environ: environ() } })
  // As so many calls would store them, or one with `count`.
  await sql`update sessions set environ = (select environ from sessions where id = ${items[0]?.id ?? ''}::uuid)`.execute(
    store.db,
  )
  const own = await whileReading('/api/v1/sessions?limit=100', member, 4, 30_000)
  await vi.waitFor(async () => expect((await read('/api/v1/me', other)).status).toBe(200), { timeout: 30_000 })
  // The answer has no variables: a superadmin does not see them.
  const ofAdmin = await whileReading('/api/v1/sessions?limit=100', admin, 1, 30_000)
  expect({ own: own.refused, ofAdmin: ofAdmin.refused }).toEqual({ own: 0, ofAdmin: 0 })
}, 300_000)
