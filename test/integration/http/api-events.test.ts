import { connect } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EventHint, type SessionStats, STREAM_LIMITS, type UserChange, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { createEventBus, type EventBus } from '../../../manager/events/bus.ts'
import { silentLog } from '../../../manager/log.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

let manager: TestManager
let bus: EventBus
beforeAll(async () => {
  manager = await startTestManager()
  bus = manager.manager.events
})
afterAll(() => manager[Symbol.asyncDispose]())

const aHint = (id: string): EventHint => ({ topic: 'session', id, version: 1 })
const idsOf = (events: readonly { data: unknown }[]) => events.map(event => (event.data as EventHint).id)

test('a stream carries the events of its user, that of a superadmin all events', async () => {
  const [anna, bert] = [await manager.addUser('anna@example.org'), await manager.addUser('bert@example.org')]
  using hers = await openEventStream(manager.url, anna)
  using his = await openEventStream(manager.url, bert)
  using all = await openEventStream(manager.url, await manager.signIn())
  bus.publish(aHint('annas'), { userId: UserId.parse(anna.id) })
  bus.publish(aHint('berts'), { userId: UserId.parse(bert.id) })
  bus.publish(aHint('admins'), 'superadmins')
  bus.publish(aHint('shared'), 'everyone')
  await expect.poll(() => idsOf(hers.of('hint'))).toEqual(['annas', 'shared'])
  await expect.poll(() => idsOf(his.of('hint'))).toEqual(['berts', 'shared'])
  await expect.poll(() => idsOf(all.of('hint'))).toEqual(['annas', 'berts', 'admins', 'shared'])
})

test('an event of a folder reaches its owner only; that of a project folder reaches everybody, without its id', async () => {
  const [owner, stranger] = [await manager.addUser('keeps@example.org'), await manager.addUser('looks@example.org')]
  const admin = await manager.signIn()
  using hers = await openEventStream(manager.url, owner)
  using his = await openEventStream(manager.url, stranger)
  const folder = await owner.api.createFolder({ body: { name: 'notes' } })
  const params = { id: folder.id }
  await owner.api.updateFolder({ params, body: { name: 'journal' } })
  await owner.api.trashFolder({ params })
  await owner.api.restoreFolder({ params })
  await owner.api.trashFolder({ params })
  await owner.api.deleteFolder({ params })
  await admin.api.createFolder({ body: { name: 'data', group: 'default' } })
  const folders = (stream: typeof hers) =>
    idsOf(stream.of('hint').filter(each => (each.data as EventHint).topic === 'folder'))
  await expect.poll(() => folders(hers)).toEqual([...Array<string>(6).fill(folder.id), 'all'])
  await expect.poll(() => folders(his)).toEqual(['all'])
})

test('an interrupted stream continues without gap or repetition', async () => {
  const user = await manager.addUser('resumes@example.org')
  const audience = { userId: UserId.parse(user.id) }
  let lastEventId: string | undefined
  {
    using stream = await openEventStream(manager.url, user)
    bus.publish(aHint('one'), audience)
    await expect.poll(() => idsOf(stream.of('hint'))).toEqual(['one'])
    lastEventId = stream.events.at(-1)?.id
  }
  bus.publish(aHint('two'), audience)
  bus.publish(aHint('not for this user'), 'superadmins')
  bus.publish(aHint('three'), audience)
  using again = await openEventStream(manager.url, { ...user, lastEventId })
  bus.publish(aHint('four'), audience)
  await expect.poll(() => idsOf(again.of('hint'))).toEqual(['two', 'three', 'four'])
  expect(again.of('resync')).toEqual([])
})

test('a stream that was away too long, or continues one of another run of the manager, starts with resync', async () => {
  const user = await manager.addUser('returns@example.org')
  using first = await openEventStream(manager.url, user)
  await expect.poll(() => first.of('ping').length).toBe(1)
  const old = first.events.at(-1)?.id
  for (let i = 0; i < 2_001; i++) bus.publish(aHint(`old ${i}`), 'superadmins')
  for (const lastEventId of [old, 'another.5', 'garbage', `${old?.split('.')[0] ?? ''}.999999`]) {
    using stream = await openEventStream(manager.url, { ...user, lastEventId })
    await expect.poll(() => stream.events[0]?.event).toBe('resync')
  }
})

test('live figures reach only clients that watch the session and may see it', async () => {
  const [owner, stranger] = [await manager.addUser('owner@example.org'), await manager.addUser('stranger@example.org')]
  const watch = '01900000-0000-7000-8000-000000000001'
  using watching = await openEventStream(manager.url, { ...owner, watch })
  using notWatching = await openEventStream(manager.url, owner)
  using curious = await openEventStream(manager.url, { ...stranger, watch })
  bus.publishStats(watch, { ownerId: UserId.parse(owner.id), domain: 'default' }, { cpuMilli: 42 } as SessionStats)
  bus.publish(aHint('after'), 'everyone')
  await expect.poll(() => watching.of('stats')[0]?.data).toEqual({ sessionId: watch, stats: { cpuMilli: 42 } })
  await expect.poll(() => idsOf(notWatching.of('hint'))).toContain('after')
  await expect.poll(() => idsOf(curious.of('hint'))).toContain('after')
  expect([...notWatching.of('stats'), ...curious.of('stats')]).toEqual([])
  const wrong = await rawRequest(`${manager.url}/api/v1/events?watch=everything`, {
    headers: { authorization: `Bearer ${owner.token}` },
  })
  expect(wrong.json).toMatchObject({ code: 'bad_request' })
})

test('an admin of a domain gets the events of that domain only', async () => {
  const superadmin = (await manager.signIn()).api
  await superadmin.createDomain({ body: { name: 'elsewhere' } })
  const admin = await manager.addUser('admin-of-default@example.org', 'domain_admin')
  const owner = await manager.addUser('watched@example.org')
  const watch = '01900000-0000-7000-8000-000000000002'
  using stream = await openEventStream(manager.url, { ...admin, watch })
  const userId = UserId.parse(owner.id)
  bus.publish(aHint('theirs'), { userId, domain: 'elsewhere' })
  bus.publish(aHint('of no domain'), { userId })
  bus.publishStats(watch, { ownerId: userId, domain: 'elsewhere' }, { cpuMilli: 1 } as SessionStats)
  bus.publish(aHint('near'), { userId, domain: 'default' })
  bus.publishStats(watch, { ownerId: userId, domain: 'default' }, { cpuMilli: 2 } as SessionStats)
  bus.publish(aHint('last'), 'everyone')
  await expect.poll(() => idsOf(stream.of('hint'))).toContain('last')
  expect(idsOf(stream.of('hint'))).toEqual(['near', 'last'])
  expect(stream.of('stats').map(event => event.data)).toEqual([{ sessionId: watch, stats: { cpuMilli: 2 } }])
  const lastEventId = stream.events[0]?.id
  using again = await openEventStream(manager.url, { ...admin, lastEventId })
  await expect.poll(() => idsOf(again.of('hint'))).toEqual(['near', 'last'])
})

test('a stream ends with its sign-in; other streams of the user continue', async () => {
  const user = await manager.addUser('leaves@example.org')
  const second = await manager.signIn({ email: 'leaves@example.org', password: 'Their-own-pass-1' })
  using ends = await openEventStream(manager.url, user)
  using stays = await openEventStream(manager.url, second)
  await user.api.logout()
  await ends.ended
  expect(stays.isEnded()).toBe(false)
  await expect(openEventStream(manager.url, user)).resolves.toMatchObject({ status: 401 })
})

test.each<[string, UserChange]>([
  ['is no superadmin any more', { role: 'user' }],
  ['has another domain', { domain: 'moved' }],
  ['is deactivated', { active: false }],
])('streams of a user who %s end, those of a sign-in and those of a keypair', async (what, body) => {
  const admin = (await manager.signIn()).api
  await admin.createDomain({ body: { name: 'moved' } }).catch(() => undefined)
  const email = `${what.replaceAll(' ', '-')}@example.org`
  const user = await manager.addUser(email, 'superadmin')
  const keypair = await user.api.createKeypair({ body: {} })
  using bySignIn = await openEventStream(manager.url, user)
  using byKeypair = await openEventStream(manager.url, keypair)
  await admin.updateUser({ params: { id: user.id }, body: { name: 'Still there' } })
  await admin.updateUser({ params: { id: user.id }, body })
  await expect.poll(() => [bySignIn.isEnded(), byKeypair.isEnded()]).toEqual([true, true])
  using again = await openEventStream(manager.url, keypair)
  // Admins of the old domain may know the secret.
  expect(again.status).toBe(body.role === undefined ? 401 : 200)

  // This ends nobody's sign-in: only keypairs exist.
  await admin.updateUser({ params: { id: user.id }, body: { active: true, role: 'superadmin', domain: 'default' } })
  const { accessKey } = keypair
  const { url } = await admin.createAccountLink({ params: { id: user.id }, body: { purpose: 'reset' } })
  const password = 'Their-own-pass-2'
  const token = new URLSearchParams(url?.split('?')[1]).get('token') ?? ''
  await manager.api().resetPassword({ body: { token, password } })
  const { api } = await manager.signIn({ email, password })
  await api.updateKeypair({ params: { accessKey }, body: { active: true } })
  await api.logout()
  using without = await openEventStream(manager.url, keypair)
  expect(without.status).toBe(200)
  await admin.updateUser({ params: { id: user.id }, body })
  await expect.poll(() => without.isEnded()).toBe(true)
})

test('a stream of a keypair ends with the keypair, and with the domain of its owner', async () => {
  const admin = (await manager.signIn()).api
  await admin.createDomain({ body: { name: 'closing' } })
  const { api } = await manager.addUser('closing@example.org', 'user', 'closing')
  const own = () => api.createKeypair({ body: {} })
  const [first, second] = [await own(), await own()]
  using ends = await openEventStream(manager.url, first)
  using stays = await openEventStream(manager.url, second)
  await admin.updateKeypair({ params: { accessKey: first.accessKey }, body: { active: false } })
  await expect.poll(() => ends.isEnded()).toBe(true)
  expect(stays.isEnded()).toBe(false)
  await admin.updateDomain({ params: { name: 'closing' }, body: { active: false } })
  await expect.poll(() => stays.isEnded()).toBe(true)
})

test('one person has a bounded number of streams over all sign-ins, and a further one is told what to do', async () => {
  const { person, signIn } = STREAM_LIMITS
  const user = await manager.addUser('many@example.org')
  const other = await manager.addUser('other@example.org')
  const again = () => manager.signIn({ email: 'many@example.org', password: 'Their-own-pass-1' })
  const signIns = [user, ...(await Promise.all(Array.from({ length: person / signIn }, again)))]
  const keypair = await user.api.createKeypair({ body: {} })
  const refused = async ({ token }: { token: string }) => {
    const reply = await rawRequest(`${manager.url}/api/v1/events`, { headers: { authorization: `Bearer ${token}` } })
    return reply.json as unknown
  }
  using stack = new DisposableStack()
  const last = signIns.pop() ?? user
  const oldest = stack.use(await openEventStream(manager.url, user))
  for (const one of signIns) {
    for (let count = one === user ? 1 : 0; count < signIn; count++) {
      const stream = stack.use(await openEventStream(manager.url, one))
      expect(stream.status).toBe(200)
    }
  }
  expect(await refused(user)).toMatchObject({ code: 'rate_limited', data: { cause: 'streams_at_most' } })
  const why = expect.stringMatching(`${person} event streams.*Close some pages or programs`) as unknown
  const full = { code: 'rate_limited', data: { cause: 'streams_of_person', why, whySaysNext: true } }
  // The oldest stream of the sign-in with most makes room for a sign-in that has none; its client is told why it cannot have one more.
  expect(stack.use(await openEventStream(manager.url, last)).status).toBe(200)
  await expect.poll(() => oldest.isEnded()).toBe(true)
  expect(await refused(user)).toMatchObject(full)
  expect(stack.use(await openEventStream(manager.url, keypair)).status).toBe(200)
  expect(stack.use(await openEventStream(manager.url, other)).status).toBe(200)
  await user.api.logout()
  await expect.poll(async () => stack.use(await openEventStream(manager.url, keypair)).status).toBe(200)
})

test('streams notice a lost notification at their next ping', async () => {
  await using own = await startTestManager()
  const { api } = await own.signIn()
  const keypair = await api.createKeypair({ body: {} })
  using stream = await openEventStream(own.url, keypair)
  await expect.poll(() => stream.of('ping').length).toBe(1)
  await using store = await openToRead({ ...own.source, log: silentLog })
  await sql`update users set role = 'user'`.execute(store.db)
  await expect.poll(() => stream.isEnded()).toBe(true)
})

test('a client that does not read is disconnected, and costs the others nothing', async () => {
  const user = await manager.addUser('slow@example.org')
  const { hostname, port, host } = new URL(manager.url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => undefined)
  await expect.poll(() => bus.count()).toBe(0) // streams of earlier tests
  socket.write(`GET /api/v1/events HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${user.token}\r\n\r\n`)
  await expect.poll(() => bus.count()).toBe(1)
  using reader = await openEventStream(manager.url, user)
  socket.pause()
  const long = 'x'.repeat(50_000)
  await expect
    .poll(
      () => {
        for (let i = 0; i < 5; i++) bus.publish(aHint(long), { userId: UserId.parse(user.id) })
        return bus.count()
      },
      { timeout: 120_000, interval: 20 },
    )
    .toBe(1)
  expect(reader.isEnded()).toBe(false)
  socket.destroy()
})

test('a client that leaves while its credentials are checked leaves no stream behind', async () => {
  await using own = await startTestManager()
  const { token } = await own.signIn()
  await using store = await openToRead({ ...own.source, log: silentLog })
  const { hostname, port, host } = new URL(own.url)
  await store.db.transaction().execute(async trx => {
    await sql`lock table logins in access exclusive mode`.execute(trx)
    const socket = connect({ host: hostname, port: Number(port) })
    socket.write(`GET /api/v1/events HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`)
    const waiting = sql`select from pg_locks where relation = 'logins'::regclass and not granted`
    await expect.poll(async () => (await waiting.execute(trx)).rows.length).toBe(1)
    socket.destroy()
    // Answered after the manager has noticed it.
    await rawRequest(`${own.url}/healthz`)
    await rawRequest(`${own.url}/healthz`)
  })
  using stream = await openEventStream(own.url, { token })
  await expect.poll(() => stream.of('ping').length).toBe(1)
  expect(own.manager.events.count()).toBe(1)
})

test('an event reaches a thousand streams within a moment', async () => {
  const bigBus = createEventBus()
  const userId = UserId.parse('01900000-0000-7000-8000-000000000002')
  let got = 0
  const stops = Array.from({ length: 1_000 }, () =>
    bigBus.subscribe({ userId, superadmin: false, watch: new Set(), send: () => got++ }, undefined),
  )
  got = 0
  // Processor time, because a busy machine gives this process only some of its time.
  const before = process.cpuUsage()
  for (let i = 0; i < 100; i++) bigBus.publish(aHint(String(i)), { userId })
  expect(got).toBe(100_000)
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1000).toBeLessThan(4_000)
  for (const stop of stops) stop()
  expect(bigBus.count()).toBe(0)
  await Promise.resolve()
})

test('the server stops at once although streams are open', async () => {
  const own = await startTestManager()
  using stream = await openEventStream(own.url, await own.signIn())
  const startedAt = performance.now()
  await own[Symbol.asyncDispose]()
  expect(performance.now() - startedAt).toBeLessThan(30_000)
  await stream.ended
})
