import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fork } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { openAccount } from '../../../electron/main/console/account.ts'
import { createMemoryCredentials } from '../../../electron/main/credentials/credential-store.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import {
  ADMIN,
  apiOf,
  AS_CONSOLE,
  readAdminPassword,
  startTestManager,
  temporaryDirectory,
  type TestManager,
} from '../../fixtures/manager.ts'
import { signInAsBrowser } from '../../fixtures/browser-sign-in.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

describe('identity', () => {
  let manager: TestManager
  beforeAll(async () => {
    manager = await startTestManager()
  })
  afterAll(() => manager[Symbol.asyncDispose]())

  const browser = (headers?: Record<string, string>) => signInAsBrowser(manager.url, ADMIN, headers)
  const me = (headers: Record<string, string>) =>
    rawRequest(`${manager.url}/api/v1/me`, { headers: { ...AS_CONSOLE, ...headers } })

  test('a browser gets a cookie that scripts and other sites cannot use, a secret for its page, and no token', async () => {
    const { reply, cookie, headers } = await browser()
    expect(reply.status).toBe(200)
    // As long as the sign-in can last: seven days by default.
    expect(String(reply.headers['set-cookie'])).toMatch(
      /^berth_\d+=berth_[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    )
    expect(cookie).toContain(`berth_${new URL(manager.url).port}=`)
    expect(reply.json).toMatchObject({ token: null, user: { email: ADMIN.email, role: 'superadmin' } })
    expect(reply.json?.originSecret).toMatch(/^berth_[\w-]{43}$/)
    expect(reply.text).not.toContain('argon2')
    expect((await me(headers)).status).toBe(200)
  })

  test('either half of a browser sign-in is useless alone, for reading too, and is handed out once', async () => {
    const [mine, other] = [await browser(), await browser()]
    const value = mine.cookie.split('=')[1] ?? ''
    const { 'x-berth-origin-secret': secret = '' } = mine.headers
    for (const given of [
      { cookie: mine.cookie },
      { 'x-berth-origin-secret': secret },
      { cookie: mine.cookie, 'x-berth-origin-secret': other.originSecret },
      { cookie: mine.cookie, 'x-berth-origin-secret': value },
      { cookie: `${mine.cookie.split('=')[0]}=${secret}`, 'x-berth-origin-secret': secret },
      { authorization: `Bearer ${value}` },
      { authorization: `Bearer ${secret}` },
    ] as Record<string, string>[]) {
      const headers = { ...AS_CONSOLE, ...given }
      expect((await me(headers)).json).toMatchObject({ code: 'not_signed_in' })
      const changed = await rawRequest(`${manager.url}/api/v1/keypairs`, { method: 'POST', headers, body: {} })
      expect(changed.json).toMatchObject({ code: 'not_signed_in' })
      const events = await rawRequest(`${manager.url}/api/v1/events`, { headers })
      expect(events.json).toMatchObject({ code: 'not_signed_in' })
    }
    const told = (await me(mine.headers)).text
    expect(told).not.toContain(secret)
    expect(told).not.toContain(value)
  })

  test('both halves are a sign-in only where a console sends them, never at the port of the manager itself', async () => {
    const { cookie, originSecret } = await browser()
    const halves = { cookie, 'x-berth-origin-secret': originSecret }
    expect((await me(halves)).status).toBe(200)
    for (const proof of [{}, { 'x-berth-console': 'a guess that is as long as the secret' }]) {
      const headers = { ...halves, ...proof }
      const read = await rawRequest(`${manager.url}/api/v1/me`, { headers })
      const changed = await rawRequest(`${manager.url}/api/v1/keypairs`, { method: 'POST', headers, body: {} })
      const events = await rawRequest(`${manager.url}/api/v1/events`, { headers })
      for (const reply of [read, changed, events]) expect(reply.json).toMatchObject({ code: 'not_signed_in' })
    }
  })

  test('cookies that another port planted sign nobody out or in', async () => {
    const [mine, foreign] = [await browser(), await browser()]
    const name = mine.cookie.split('=')[0] ?? ''
    const planted = [`${name}=planted`, foreign.cookie, `${name}=berth_${'A'.repeat(43)}`]
    const cookie = [...planted, mine.cookie, 'berth_app_1=x'].join('; ')
    const reply = await me({ ...mine.headers, cookie })
    expect(reply.json).toMatchObject({ user: { email: ADMIN.email } })
    expect((await me({ ...mine.headers, cookie: planted.join('; ') })).status).toBe(401)
  })

  test('a WebSocket of a page needs both halves: the secret is a subprotocol that is never chosen', async () => {
    const { cookie, originSecret } = await browser()
    const open = (headers: Record<string, string>) =>
      rawRequest(
        `${manager.url}/api/v1/sessions/01900000-0000-7000-8000-0000000000aa/terminal?name=a&cols=80&rows=24`,
        {
          headers: {
            origin: manager.url,
            connection: 'Upgrade',
            upgrade: 'websocket',
            'sec-websocket-version': '13',
            'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
            ...AS_CONSOLE,
            ...headers,
          },
        },
      )
    const offer = (secret: string) => `berth.terminal.v1, berth.origin-secret.${secret}`
    const isKnown = await open({ cookie, 'sec-websocket-protocol': offer(originSecret) })
    expect(isKnown.json).toMatchObject({ code: 'session_not_found' })
    for (const protocols of ['berth.terminal.v1', offer(''), offer(cookie.split('=')[1] ?? '')]) {
      const refused = await open({ cookie, 'sec-websocket-protocol': protocols })
      expect(refused.json).toMatchObject({ code: 'not_signed_in' })
    }
  })

  test('a cookie is named after the port that the browser uses, and bound to its host under https', async () => {
    const headers = { ...AS_CONSOLE, 'x-forwarded-host': 'localhost:8400', 'x-forwarded-proto': 'https' }
    const signedIn = await browser(headers)
    expect(String(signedIn.reply.headers['set-cookie'])).toMatch(/^__Host-berth_8400=.*; Path=\/; .*; Secure$/)
    expect((await me({ ...headers, ...signedIn.headers })).status).toBe(200)
  })

  test('signing out ends this sign-in only, and removes its cookie', async () => {
    const [mine, other] = [await browser(), await browser()]
    const done = await rawRequest(`${manager.url}/api/v1/auth/logout`, { method: 'POST', headers: mine.headers })
    expect(done.status).toBe(204)
    expect(String(done.headers['set-cookie'])).toContain('Max-Age=0')
    expect((await me(mine.headers)).json).toMatchObject({ code: 'not_signed_in' })
    expect((await me(other.headers)).status).toBe(200)
  })

  test('a forged cookie or token is refused, and a bad token is refused even beside a valid cookie', async () => {
    const { cookie, headers: good } = await browser()
    for (const headers of [
      { ...good, cookie: `${cookie.slice(0, -3)}AAA` },
      { authorization: 'Bearer berth_made-up' },
      { ...good, authorization: 'Basic YTpi' },
    ] as Record<string, string>[]) {
      expect((await me(headers)).json).toMatchObject({ code: 'not_signed_in', status: 401 })
    }
  })

  test('an unknown address and a wrong password get the same reply', async () => {
    const attempt = async (email: string) => {
      const body = { email, password: 'not the one' }
      return (await rawRequest(`${manager.url}/api/v1/auth/login`, { method: 'POST', body })).text
    }
    // An account of its own, because failures slow down its next sign-in.
    const known = `${randomUUID()}@example.org`
    await manager.addUser(known)
    for (let round = 0; round < 3; round++) {
      const [wrong, unknown] = [await attempt(known), await attempt('nobody@example.org')]
      expect(wrong).toContain('login_failed')
      expect(unknown).toBe(wrong)
    }
  })

  test('failures of others on this computer lock nobody out, and signed-in users continue', async () => {
    const email = `set-up-${randomBytes(4).toString('hex')}@example.org`
    const owner = await manager.addUser(email)
    const guess = (address: string, headers: Record<string, string> = {}) =>
      rawRequest(`${manager.url}/api/v1/auth/login`, {
        method: 'POST',
        headers,
        body: { email: address, password: 'no' },
      })
    for (let i = 0; i < 25; i++) await guess(`someone-${i}@example.org`)
    expect((await manager.signIn()).token).toContain('berth_')
    // Sent together: one after the other, the waits would be over on a slow machine before the next guess.
    const replies = await Promise.all(Array.from({ length: 12 }, () => guess(email)))
    expect(replies.map(({ json }) => json?.code)).toContain('login_throttled')
    expect((await owner.api.enrolTotp({ body: { password: 'Their-own-pass-1' } })).secret).toMatch(/^[A-Z2-7]+$/)
  })

  test('a program that forges its origin is counted by its real address', async () => {
    const email = 'rotating@example.org'
    const guess = (index: number, headers: Record<string, string>) =>
      rawRequest(`${manager.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'x-forwarded-for': `203.0.113.${index}`, ...headers },
        body: { email: `${index}-${email}`, password: 'no' },
      })
    // Proven by the console: 25 addresses. Their failures do not add up, those of one address do.
    for (let i = 0; i < 25; i++) expect((await guess(i, AS_CONSOLE)).status).toBe(401)
    const one = { ...AS_CONSOLE, 'x-forwarded-for': '198.51.100.9' }
    const codes: number[] = []
    for (let i = 0; i < 25; i++) codes.push((await guess(i, one)).status)
    expect(codes).toContain(429)
    const forged = await guess(1, { 'x-forwarded-for': '198.51.100.9' })
    expect(forged.status).toBe(401)
  })

  test('guesses have to wait longer and longer, also parallel ones, whatever succeeds elsewhere', async () => {
    const email = `guessed-${randomBytes(4).toString('hex')}@example.org`
    const other = await manager.addUser(email)
    const guess = (password: string) =>
      rawRequest(`${manager.url}/api/v1/auth/login`, { method: 'POST', body: { email, password, kind: 'token' } })
    const since = performance.now()
    const replies = await Promise.all(Array.from({ length: 12 }, (_, i) => guess(`guess-${i}`)))
    const codes = replies.map(reply => reply.json?.code)
    const failed = codes.filter(code => code === 'login_failed').length
    expect(failed).toBeGreaterThanOrEqual(5)
    // Waits of 1, 2, 4, … s follow the fifth: on a slow machine the first may be over before the last guess is sent.
    expect(failed).toBeLessThanOrEqual(5 + Math.floor(Math.log2(1 + (performance.now() - since) / 1000)))
    expect(codes.filter(code => code === 'login_throttled').length).toBe(12 - failed)
    const throttled = replies.find(reply => reply.status === 429)
    expect(Number(throttled?.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    const waitAfterGuess = async () => Number((await guess('one more')).headers['retry-after'] ?? 0)
    await expect.poll(waitAfterGuess, { interval: 100 }).toBeGreaterThanOrEqual(4)
    // Even the right password must wait; signed-in users stay signed in; others are not delayed.
    expect((await guess('Their-own-pass-1')).status).toBe(429)
    expect((await other.api.me()).user.email).toBe(email)
    expect((await manager.signIn()).token).toContain('berth_')
    await expect.poll(async () => (await guess('Their-own-pass-1')).status, { interval: 300 }).toBe(200)
  })

  test('a new password ends every other sign-in, and the old one no longer works', async () => {
    const user = await manager.addUser('changes@example.org')
    const second = await manager.signIn({ email: 'changes@example.org', password: 'Their-own-pass-1' })
    const change = (oldPassword: string, newPassword: string) =>
      user.api.changePassword({ body: { oldPassword, newPassword } })
    await expect(change('wrong', 'Another-pass-2')).rejects.toMatchObject({ code: 'login_failed' })
    await expect(change('Their-own-pass-1', 'weak')).rejects.toMatchObject({ code: 'weak_password' })
    await change('Their-own-pass-1', 'Another-pass-2')
    await expect(second.api.me()).rejects.toMatchObject({ code: 'not_signed_in' })
    expect((await user.api.me()).user.email).toBe('changes@example.org')
    const old = manager.signIn({ email: 'changes@example.org', password: 'Their-own-pass-1' })
    await expect(old).rejects.toMatchObject({ code: 'login_failed' })
  })

  test('a deactivated user is refused at once, everywhere, until activated again', async () => {
    const user = await manager.addUser('away@example.org')
    const admin = await manager.signIn()
    expect((await user.api.me()).user.active).toBe(true)
    await admin.api.updateUser({ params: { id: UserId.parse(user.id) }, body: { active: false } })
    await expect(user.api.me()).rejects.toMatchObject({ code: 'not_signed_in' })
    const back = () => manager.signIn({ email: 'away@example.org', password: 'Their-own-pass-1' })
    await expect(back()).rejects.toMatchObject({ code: 'login_failed' })
    await admin.api.updateUser({ params: { id: UserId.parse(user.id) }, body: { active: true } })
    expect((await (await back()).api.me()).user.active).toBe(true)
  })

  test('a superadmin cannot lock themselves out', async () => {
    const admin = await manager.signIn()
    const { user } = await admin.api.me()
    const change = (body: { active?: boolean; role?: 'user' }) =>
      admin.api.updateUser({ params: { id: user.id }, body })
    // The only superadmin, and one of two.
    await expect(change({ active: false })).rejects.toMatchObject({ code: 'last_superadmin' })
    await expect(change({ role: 'user' })).rejects.toMatchObject({ code: 'last_superadmin' })
    await manager.addUser('second-superadmin@example.org', 'superadmin')
    await expect(change({ active: false })).rejects.toMatchObject({ code: 'forbidden' })
    await expect(change({ role: 'user' })).rejects.toMatchObject({ code: 'forbidden' })
  })

  test.each(['superadmin', 'domain_admin'] as const)(
    'a %s cannot use admin routes on their own account for actions that need the password',
    async role => {
      const { id, api, token } = await manager.addUser(`own-${role}@example.org`, role)
      const params = { id: UserId.parse(id) }
      const own = api.updateUser({ params, body: { password: 'Brand-new-pass-2' } })
      await expect(own).rejects.toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining('POST /api/v1/me/password') as string,
      })
      for (const purpose of ['reset', 'verify'] as const)
        await expect(api.createAccountLink({ params, body: { purpose } })).rejects.toMatchObject({ code: 'forbidden' })
      await expect(api.resetTotp({ params })).rejects.toMatchObject({ code: 'forbidden' })
      for (const body of [{ role: 'user' }, { active: false }, { domain: 'elsewhere' }] as const)
        await expect(api.updateUser({ params, body })).rejects.toThrow()
      // None of these changes happened, and domain admins keep their other rights.
      expect(await manager.api(token).updateUser({ params, body: { name: 'Another name' } })).toMatchObject({
        name: 'Another name',
        role,
        active: true,
      })
      const passwords = { oldPassword: 'Their-own-pass-1', newPassword: 'Brand-new-pass-2' }
      await api.changePassword({ body: passwords })
      await manager.signIn({ email: `own-${role}@example.org`, password: passwords.newPassword })
    },
  )

  test('an e-mail address is unique in any letter case, also for two requests at the same time', async () => {
    const admin = await manager.signIn()
    const create = (email: string) =>
      admin.api.createUser({ body: { mustChangePassword: false, email, name: 'Twice', password: 'Good-enough-1' } })
    const outcomes = await Promise.allSettled([create('twice@example.org'), create('TWICE@example.org')])
    expect(outcomes.map(outcome => outcome.status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(create('Twice@Example.org')).rejects.toMatchObject({ code: 'user_exists' })
    await expect(
      admin.api.createUser({
        body: { mustChangePassword: false, email: 'weak@example.org', name: 'W', password: 'short' },
      }),
    ).rejects.toMatchObject({ code: 'weak_password' })
  })

  test('the list of users is paged, each user once', async () => {
    const admin = await manager.signIn()
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await admin.api.listUsers({ query: { limit: 2, cursor } })
      seen.push(...page.items.map(user => user.id))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.length).toBe((await admin.api.listUsers()).items.length)
    await expect(admin.api.listUsers({ query: { cursor: 'x' } })).rejects.toMatchObject({ code: 'bad_request' })
  })

  test('a sign-in link works once, also for two uses at the same time', async () => {
    const { ticket } = await manager.manager.createSignInTicket()
    const use = () => rawRequest(`${manager.url}/api/v1/auth/ticket`, { method: 'POST', body: { ticket } })
    const replies = await Promise.all([use(), use(), use()])
    expect(replies.map(reply => reply.status).toSorted()).toEqual([200, 401, 401])
    const good = replies.find(reply => reply.status === 200)
    expect(good?.json).toMatchObject({ user: { email: 'admin@localhost' } })
    expect(replies.find(reply => reply.status === 401)?.json).toMatchObject({ code: 'ticket_invalid' })
  })

  test('the desktop app gets a token by a sign-in link, and no cookie', async () => {
    const { ticket } = await manager.manager.createSignInTicket()
    const body = { ticket, kind: 'token' }
    const reply = await rawRequest(`${manager.url}/api/v1/auth/ticket`, { method: 'POST', body })
    expect(reply.json).toMatchObject({ originSecret: null, token: expect.stringMatching(/^berth_/) as string })
    expect(reply.headers).not.toHaveProperty('set-cookie')
    const account = await openAccount({
      endpoint: manager.url,
      ticket: (await manager.manager.createSignInTicket()).ticket,
      credentials: createMemoryCredentials(),
      fetch,
      onUserChanged: () => Promise.resolve(),
      onSignedInLate: () => undefined,
      onSignedInAgain: () => Promise.resolve(),
    })
    const me = await rawRequest(`${manager.url}/api/v1/me`, { headers: await account.headers() })
    expect(me.json).toMatchObject({ user: { id: await account.userId(), email: ADMIN.email } })
  })
})

test('the first start writes a random password that only its user can read; later starts keep it', async () => {
  await using dir = await temporaryDirectory()
  const options = { dataDir: join(dir.path, 'data'), adminPassword: undefined, firstStart: true }
  let password: string
  {
    await using manager = await startTestManager(options)
    password = await readAdminPassword(manager.dataDir)
    expect((await stat(join(manager.dataDir, 'admin-password'))).mode & 0o777).toBe(0o600)
    expect(await manager.api().authOptions()).toMatchObject({ firstStart: true })
    await manager.signIn({ email: ADMIN.email, password })
    expect(await manager.api().authOptions()).toMatchObject({ firstStart: false })
  }
  await using again = await startTestManager({ ...options, adminPassword: 'Not-used-now-1' })
  expect(await readAdminPassword(again.dataDir)).toBe(password)
  await again.signIn({ email: ADMIN.email, password })
})

test('a BERTH_ADMIN_PASSWORD that breaks the rules stops the start', async () => {
  await expect(startTestManager({ adminPassword: 'password' })).rejects.toMatchObject({ code: 'weak_password' })
})

test('the process reports when it is ready, serves its parent, keeps its data after kill -9, and stops with its parent', async () => {
  await using dir = await temporaryDirectory()
  const env = { ...cleanEnvironment(), BERTH_DATA: dir.path, BERTH_ADMIN_PASSWORD: ADMIN.password, BERTH_LOG: 'warn' }
  const start = async () => {
    const child = fork(join(import.meta.dirname, '../../../manager/main.ts'), { env, silent: true })
    const [line] = (await once(child.stdout ?? child, 'data')) as [Buffer]
    const ready = JSON.parse(line.toString()) as { ready: string; url: string; managerId: string }
    const ask = async (type: string) => {
      child.send({ id: 1, type })
      const [answer] = (await once(child, 'message')) as [{ ok: boolean; value: Record<string, string> }]
      return answer
    }
    return { child, ready, ask }
  }
  const first = await start()
  expect(first.ready.ready).toBe('manager')
  const { token } = await apiOf(first.ready.url).login({ body: { ...ADMIN, kind: 'token' } })
  const join_ = await first.ask('create_join_token')
  expect(join_).toMatchObject({ ok: true, value: { join: expect.stringMatching(/^berth-join:/) as string } })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')

  const second = await start()
  expect(second.ready.managerId).toBe(first.ready.managerId)
  expect((await apiOf(second.ready.url, token ?? '').me()).user.email).toBe(ADMIN.email)
  const { value } = await second.ask('create_sign_in_ticket')
  expect(value.ticket).toBeTruthy()
  second.child.disconnect()
  const [code] = (await once(second.child, 'exit')) as [number]
  expect(code).toBe(0)
})
