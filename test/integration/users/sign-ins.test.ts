import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { ADMIN, AS_CONSOLE, signedApi, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { codeOf } from './account-steps.ts'

const PASSWORD = 'Their-own-pass-1'
let manager: TestManager
beforeAll(async () => {
  manager = await startTestManager()
})
afterAll(() => manager[Symbol.asyncDispose]())

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

test('own sign-ins are listed with device and address, and the current one is marked', async () => {
  const { api } = await manager.signIn()
  const body = { ...ADMIN, kind: 'token' }
  await rawRequest(`${manager.url}/api/v1/auth/login`, { method: 'POST', body, headers: { 'user-agent': FIREFOX } })
  await manager.api().login({ body: { ...ADMIN, kind: 'token', label: 'berth CLI on lab' } })
  await manager.addUser('another@example.org')
  const { items } = await api.listLogins()
  expect(items.filter(({ isThis }) => isThis)).toHaveLength(1)
  expect(items.map(({ label }) => label)).toEqual(expect.arrayContaining(['Firefox, Linux', 'berth CLI on lab']))
  const { items: again } = await api.listLogins()
  expect(again.every(({ address, accessKey }) => address === '127.0.0.1' && accessKey === null)).toBe(true)
  expect(JSON.stringify(items)).not.toMatch(/hash|berth_/)
})

test('ending an own sign-in closes its event stream at once; sign-ins of others cannot be ended', async () => {
  const owner = await manager.addUser('ends@example.org')
  const { token } = await manager
    .api()
    .login({ body: { email: 'ends@example.org', password: PASSWORD, kind: 'token' } })
  if (token === null) throw new Error('no token')
  using stream = await openEventStream(manager.url, { token })
  const other = (await owner.api.listLogins()).items.find(({ isThis }) => !isThis)
  const params = { id: other?.id ?? '' }
  const stranger = await manager.addUser('stranger@example.org')
  await expect(stranger.api.endLogin({ params })).rejects.toMatchObject({ code: 'login_not_found' })
  await expect((await manager.signIn()).api.endLogin({ params })).rejects.toMatchObject({ code: 'login_not_found' })
  expect(stream.isEnded()).toBe(false)
  await owner.api.endLogin({ params })
  await stream.ended
  await expect(manager.api(token).me()).rejects.toMatchObject({ code: 'not_signed_in' })
  await expect(owner.api.endLogin({ params })).rejects.toMatchObject({ code: 'login_not_found' })

  for (let index = 0; index < 3; index++)
    await manager.api().login({ body: { email: 'ends@example.org', password: PASSWORD, kind: 'token' } })
  expect(await owner.api.endOtherLogins()).toEqual({ ended: 3 })
  expect((await owner.api.listLogins()).items).toMatchObject([{ isThis: true }])
  expect((await stranger.api.me()).user.email).toBe('stranger@example.org')
})

test('an admin lists and ends the sign-ins of a user whom they manage, and of nobody else', async () => {
  const owner = await manager.addUser('managed@example.org')
  const { api: admin } = await manager.signIn()
  const { id } = (await owner.api.me()).user
  await manager.api().login({ body: { email: 'managed@example.org', password: PASSWORD, kind: 'token' } })
  const { items } = await admin.listUserLogins({ params: { id } })
  expect(items).toHaveLength(2)
  expect(items.every(({ isThis }) => !isThis)).toBe(true)
  const stranger = await manager.addUser('not-an-admin@example.org')
  await expect(stranger.api.listUserLogins({ params: { id } })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(stranger.api.endUserLogins({ params: { id } })).rejects.toMatchObject({ code: 'forbidden' })
  expect(await admin.endUserLogins({ params: { id } })).toEqual({ ended: 2 })
  await expect(owner.api.me()).rejects.toMatchObject({ code: 'not_signed_in' })
  expect((await admin.listUserLogins({ params: { id } })).items).toEqual([])
  const self = (await admin.me()).user.id
  await expect(admin.endUserLogins({ params: { id: self } })).rejects.toMatchObject({ code: 'forbidden' })
})

test('users are listed in the order that is asked for, page by page, with the number of all', async () => {
  const { api: admin } = await manager.signIn()
  for (const name of ['sort-c', 'sort-a', 'sort-b', 'sort-d']) await manager.addUser(`${name}@example.org`)
  const every = async (sort: 'created' | '-created' | 'email' | '-email' | 'domain' | '-domain') => {
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await admin.listUsers({ query: { search: 'sort-', sort, limit: 3, cursor } })
      expect(page.total).toBe(4)
      found.push(...page.items.map(({ email }) => email.charAt(5)))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    return found.join('')
  }
  expect(await every('created')).toBe('cabd')
  expect(await every('-created')).toBe('dbac')
  expect(await every('email')).toBe('abcd')
  expect(await every('-email')).toBe('dcba')
  // Equal values are ordered by age.
  expect(await every('domain')).toBe('cabd')
  expect(await every('-domain')).toBe('dbac')
})

test('an access key signs in; the sign-in counts for its keypair, and ends with it', async () => {
  const owner = await manager.addUser('keys@example.org')
  const { accessKey, secretKey } = await owner.api.createKeypair({ body: {} })
  const signIn = (secret: string, key = accessKey) =>
    manager.api().loginWithKeypair({ body: { accessKey: key, secretKey: secret, kind: 'token' } })
  await expect(signIn(`${secretKey}x`)).rejects.toMatchObject({ code: 'access_key_invalid' })
  await expect(signIn(secretKey, 'AKIAAAAAAAAAAAAAAAAA')).rejects.toMatchObject({ code: 'access_key_invalid' })
  const { token, user } = await signIn(secretKey)
  if (token === null) throw new Error('no token')
  expect(user.email).toBe('keys@example.org')
  const api = manager.api(token)
  expect((await api.listLogins()).items.find(({ isThis }) => isThis)).toMatchObject({ accessKey })
  const log = await (await manager.signIn()).api.listAuditLog({ query: { limit: 20 } })
  expect(JSON.stringify(log)).not.toContain(secretKey)

  using stream = await openEventStream(manager.url, { token })
  const params = { accessKey }
  await owner.api.updateKeypair({ params, body: { active: false } })
  await stream.ended
  await expect(api.me()).rejects.toMatchObject({ code: 'not_signed_in' })
  await expect(signIn(secretKey)).rejects.toMatchObject({ code: 'keypair_inactive' })
  await owner.api.updateKeypair({ params, body: { active: true } })
  const { token: next } = await signIn(secretKey)
  await owner.api.deleteKeypair({ params })
  await expect(manager.api(next ?? '').me()).rejects.toMatchObject({ code: 'not_signed_in' })
  expect((await owner.api.me()).user.email).toBe('keys@example.org')
})

test('a keypair ends only sign-ins that were made with it, so that a stolen one does not keep its person from deactivating it', async () => {
  const { api } = await manager.addUser('robbed@example.org')
  const keypair = await api.createKeypair({ body: {} })
  const { accessKey, secretKey } = keypair
  const signIn = async () =>
    (await manager.api().loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })).token
  const [first, second] = [await signIn(), await signIn()]
  const ofPerson = (await api.listLogins()).items.find(({ isThis }) => isThis)
  for (const thief of [signedApi(manager.url, keypair), manager.api(first ?? '')]) {
    expect(await codeOf(thief.endLogin({ params: { id: ofPerson?.id ?? '' } }))).toBe('login_not_found')
  }
  expect(await manager.api(first ?? '').endOtherLogins()).toEqual({ ended: 1 })
  expect(await codeOf(manager.api(second ?? '').me())).toBe('not_signed_in')
  expect(await signedApi(manager.url, keypair).endOtherLogins()).toEqual({ ended: 1 })
  expect(await codeOf(api.updateKeypair({ params: { accessKey }, body: { active: false } }))).toBe('ok')
})

test('wrong secrets of an access key make the next sign-in with it wait', async () => {
  const { accessKey } = await (await manager.signIn()).api.createKeypair({ body: {} })
  const codes: unknown[] = []
  for (let index = 0; index < 6; index++) {
    const body = { accessKey, secretKey: `wrong-${index}`, kind: 'token' } as const
    codes.push(
      await manager
        .api()
        .loginWithKeypair({ body })
        .catch((error: unknown) => (error instanceof Error && 'code' in error ? error.code : error)),
    )
  }
  expect(codes[0]).toBe('access_key_invalid')
  expect(codes.at(-1)).toBe('login_throttled')
})

/** Like the console in front of the manager, which reports the client's address. */
const from = (address: string) => ({ headers: { ...AS_CONSOLE, 'x-forwarded-for': address } })

test('a stranger who guesses at a known account, and goes on, keeps only those of the same network waiting', async () => {
  const email = 'guessed-at@example.org'
  await manager.addUser(email)
  const signIn = (address: string, password = PASSWORD) =>
    codeOf(manager.api().login({ body: { email, password, kind: 'token' }, ...from(address) }))
  const guess = (address: string) => Promise.all(Array.from({ length: 12 }, (_, at) => signIn(address, `guess-${at}`)))
  expect(await guess('203.0.113.7')).toContain('login_throttled')
  expect(await signIn('198.51.100.4')).toBe('ok')
  // A success from another address does not reset the stranger's count.
  expect((await guess('203.0.113.7')).filter(code => code === 'login_failed').length).toBeLessThan(4)
  // The server's own computer also counts as a network.
  expect(await guess('127.0.0.1')).toContain('login_throttled')
  expect(await signIn('198.51.100.4')).toBe('ok')
})

test('a keypair whose access key somebody knows signs in from elsewhere, whatever is guessed', async () => {
  const { api } = await manager.addUser('keypair-guessed-at@example.org')
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  const signIn = (address: string, secret: string) =>
    codeOf(manager.api().loginWithKeypair({ body: { accessKey, secretKey: secret, kind: 'token' }, ...from(address) }))
  const guesses = Array.from({ length: 12 }, () => signIn('203.0.113.8', 'x'.repeat(40)))
  expect(await Promise.all(guesses)).toContain('login_throttled')
  expect(await signIn('198.51.100.5', secretKey)).toBe('ok')
})

test('guesses from very many networks have to wait together', async () => {
  const email = 'guessed-from-everywhere@example.org'
  await manager.addUser(email)
  const guess = (at: number) =>
    codeOf(manager.api().login({ body: { email, password: 'no', kind: 'token' }, ...from(`10.9.${at}.1`) }))
  const codes: unknown[] = []
  for (let at = 0; at < 250; at += 25) {
    codes.push(...(await Promise.all(Array.from({ length: 25 }, (_, more) => guess(at + more)))))
  }
  expect(codes.filter(code => code === 'login_failed').length).toBeLessThan(240)
  expect(codes).toContain('login_throttled')
})
