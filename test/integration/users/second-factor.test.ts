import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { defined } from '#base/defined'
import { type ApiClient, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { AS_CONSOLE, signedApi, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { totpCode } from '../../fixtures/totp-code.ts'
import { codeOf, CONSOLE, PASSWORD, tokenOf } from './account-steps.ts'

let manager: TestManager
let admin: ApiClient
let anybody: ApiClient
beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
  anybody = manager.api()
  await admin.updateSettings({ body: { publicUrl: CONSOLE } })
})
afterAll(() => manager[Symbol.asyncDispose]())

/** Sign-ins are counted by network address, so every test uses a different one. */
let place = 0
beforeEach(() => {
  place += 1
})
let people = 0
const newAddress = () => `person-${++people}@example.org`
const signIn = (email: string, password = PASSWORD, totp?: string) =>
  anybody.login({
    body: { email, password, kind: 'token', ...defined({ totp }) },
    headers: { ...AS_CONSOLE, 'x-forwarded-for': `10.0.0.${place}` },
  })

/** A user with a second factor, confirmed with the code of now. The next one is unused. */
async function enrolled() {
  const email = newAddress()
  const user = await manager.addUser(email)
  const { secret, uri } = await user.api.enrolTotp({ body: { password: PASSWORD } })
  const { codes } = await user.api.confirmTotp({ body: { code: totpCode(secret) } })
  return { ...user, email, secret, uri, recoveryCodes: codes }
}

test('the second factor counts once a code is confirmed, and then every sign-in needs a code', async () => {
  const email = newAddress()
  const user = await manager.addUser(email)
  expect(await codeOf(user.api.enrolTotp({ body: { password: 'wrong' } }))).toBe('login_failed')
  const { secret, uri } = await user.api.enrolTotp({ body: { password: PASSWORD } })
  expect(uri).toContain(`otpauth://totp/Berth:${encodeURIComponent(email)}?`)
  expect(uri).toContain(`secret=${secret}`)
  expect(await codeOf(signIn(email))).toBe('ok')
  expect(await codeOf(user.api.confirmTotp({ body: { code: '000000' } }))).toBe('totp_invalid')
  const { codes } = await user.api.confirmTotp({ body: { code: totpCode(secret) } })
  expect(new Set(codes).size).toBe(10)
  expect(await user.api.totpStatus()).toEqual({ enabled: true, recoveryCodesLeft: 10 })
  expect((await user.api.me()).user).toMatchObject({ emailVerified: true, secondFactor: true })
  expect(await codeOf(user.api.enrolTotp({ body: { password: PASSWORD } }))).toBe('totp_on')
  expect(await codeOf(signIn(email, 'wrong', totpCode(secret, 1)))).toBe('login_failed')
  expect(await codeOf(signIn(email))).toBe('totp_required')
  expect(await codeOf(signIn(email, PASSWORD, '123'.padEnd(6, '4')))).toBe('totp_invalid')
  const code = totpCode(secret, 1)
  expect(await codeOf(signIn(email, PASSWORD, `${code.slice(0, 3)} ${code.slice(3)}`))).toBe('ok')
})

test('a code works once, also when it arrives several times at the same time, and an older one never again', async () => {
  const { email, secret } = await enrolled()
  const [now, next, far] = [totpCode(secret), totpCode(secret, 1), totpCode(secret, 20)]
  const codes = await Promise.all([next, next, next].map(code => codeOf(signIn(email, PASSWORD, code))))
  expect(codes.toSorted()).toEqual(['ok', 'totp_invalid', 'totp_invalid'])
  expect(await codeOf(signIn(email, PASSWORD, now))).toBe('totp_invalid')
  expect(await codeOf(signIn(email, PASSWORD, far))).toBe('totp_invalid')
})

test('wrong codes make the next attempt wait longer and longer, and the right password does not reset the count', async () => {
  const { email } = await enrolled()
  const codes: unknown[] = []
  for (let i = 0; i < 12; i++) {
    codes.push(await codeOf(signIn(email, PASSWORD, String(100_000 + i))))
    codes.push(await codeOf(signIn(email)))
  }
  expect(codes.filter(code => code === 'totp_invalid').length).toBeLessThan(8)
  // On a busy machine a pause may end between two attempts.
  expect(codes.slice(-6)).toContain('login_throttled')
})

test('a recovery code signs in once, and new codes replace all old ones', async () => {
  const { email, api, secret, recoveryCodes } = await enrolled()
  const [first = '', second = ''] = recoveryCodes
  expect(await codeOf(signIn(email, PASSWORD, first.replaceAll('-', ' ').toUpperCase()))).toBe('ok')
  expect(await codeOf(signIn(email, PASSWORD, first))).toBe('totp_invalid')
  expect((await api.totpStatus()).recoveryCodesLeft).toBe(9)
  const body = { password: PASSWORD, code: totpCode(secret, 1) }
  const { codes } = await api.renewRecoveryCodes({ body })
  expect(await codeOf(signIn(email, PASSWORD, second))).toBe('totp_invalid')
  expect(await codeOf(signIn(email, PASSWORD, codes[0]))).toBe('ok')
})

test('switching it off needs password and code; a superadmin can switch it off for those who lost both', async () => {
  const one = await enrolled()
  const off = (password: string, code: string) => codeOf(one.api.disableTotp({ body: { password, code } }))
  expect(await off('wrong', totpCode(one.secret, 1))).toBe('login_failed')
  expect(await off(PASSWORD, '111111')).toBe('totp_invalid')
  expect(await off(PASSWORD, totpCode(one.secret, 1))).toBe('ok')
  expect(await one.api.totpStatus()).toEqual({ enabled: false, recoveryCodesLeft: 0 })
  expect(await codeOf(signIn(one.email))).toBe('ok')

  const other = await enrolled()
  const id = UserId.parse(other.id)
  expect(await codeOf(one.api.resetTotp({ params: { id } }))).toBe('forbidden')
  await admin.resetTotp({ params: { id } })
  expect(await codeOf(signIn(other.email))).toBe('ok')
  expect(await codeOf(admin.resetTotp({ params: { id } }))).toBe('totp_not_on')
})

test('a new password by link keeps the second factor on', async () => {
  const { id, email, secret } = await enrolled()
  const params = { id: UserId.parse(id) }
  const { url } = await admin.createAccountLink({ params, body: { purpose: 'reset' } })
  await anybody.resetPassword({ body: { token: tokenOf(url), password: 'Brand-new-pass-2' } })
  expect(await codeOf(signIn(email, 'Brand-new-pass-2'))).toBe('totp_required')
  expect(await codeOf(signIn(email, 'Brand-new-pass-2', totpCode(secret, 1)))).toBe('ok')
})

test('a sign-in with a keypair asks for the code too; a signed request is a program and does not', async () => {
  const user = await enrolled()
  const keypair = await user.api.createKeypair({ body: {} })
  const signIn = (kind: 'browser' | 'token', totp?: string) =>
    anybody.loginWithKeypair({
      headers: { ...AS_CONSOLE, 'x-forwarded-for': `10.0.0.${place}` },
      body: {
        accessKey: keypair.accessKey,
        secretKey: keypair.secretKey,
        kind,
        ...defined({ totp }),
      },
    })
  for (const kind of ['browser', 'token'] as const) {
    expect(await codeOf(signIn(kind))).toBe('totp_required')
    expect(await codeOf(signIn(kind, '000000'))).toBe('totp_invalid')
  }
  expect((await signIn('token', user.recoveryCodes[0])).user.email).toBe(user.email)
  expect(await codeOf(signedApi(manager.url, keypair).me())).toBe('ok')
})

test('switching it on ends the other sign-ins of the account, which no code has seen', async () => {
  const email = newAddress()
  const { api } = await manager.addUser(email)
  const { token } = await signIn(email)
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  const byKey = await anybody.loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })
  const others = [token, byKey.token].map(one => manager.api(one ?? ''))
  for (const other of others) expect(await codeOf(other.me())).toBe('ok')
  const { secret } = await api.enrolTotp({ body: { password: PASSWORD } })
  for (const other of others) expect(await codeOf(other.me())).toBe('ok')
  await api.confirmTotp({ body: { code: totpCode(secret) } })
  for (const other of others) expect(await codeOf(other.me())).toBe('not_signed_in')
  expect(await codeOf(api.me())).toBe('ok')
})

test('a second factor that is switched on while somebody signs in is asked for: by password, and by keypair', async () => {
  await using store = await openToRead({ ...manager.source, log: silentLog })
  for (const how of ['password', 'keypair'] as const) {
    const email = `meanwhile-${how}@example.org`
    const { id, api } = await manager.addUser(email)
    const { accessKey, secretKey } = await api.createKeypair({ body: {} })
    const { promise: held, resolve: release } = Promise.withResolvers<undefined>()
    const locked = Promise.withResolvers<undefined>()
    const change = store.db.transaction().execute(async trx => {
      await sql`select from users where id = ${id}::uuid for update`.execute(trx)
      locked.resolve(undefined)
      await held
      await sql`update users set totp_confirmed_at = now(), totp_sealed = 'x' where id = ${id}::uuid`.execute(trx)
    })
    await locked.promise
    const signing = codeOf(
      how === 'password' ? signIn(email) : anybody.loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } }),
    )
    await expect
      .poll(async () => {
        const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update%'`.execute(
          store.db,
        )
        return rows[0]?.count
      })
      .toBeGreaterThan(0)
    release(undefined)
    await change
    expect(await signing, how).toBe('totp_required')
  }
})
