import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApiClient, type SystemSettingsChange } from '#manager/contract'
import { AS_CONSOLE, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { type SmtpServer, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { codeOf, CONSOLE, PASSWORD } from './account-steps.ts'

let manager: TestManager
let smtp: SmtpServer
let admin: ApiClient
let anybody: ApiClient
beforeAll(async () => {
  manager = await startTestManager()
  smtp = await startSmtpServer()
  admin = (await manager.signIn()).api
  anybody = manager.api()
  await admin.createDomain({ body: { name: 'school' } })
})
afterAll(async () => {
  await manager[Symbol.asyncDispose]()
  await smtp[Symbol.asyncDispose]()
})

const WITH_MAIL = {
  publicUrl: CONSOLE,
  smtpHost: 'localhost',
  smtpSecurity: 'none',
  smtpFrom: 'berth@example.org',
} as const
const set = (body: SystemSettingsChange = {}) =>
  admin.updateSettings({
    body: { ...WITH_MAIL, smtpPort: smtp.port, allowSignUp: 'request', signUpDomain: 'school', ...body },
  })

let counter = 0
/** Requests of strangers are counted by network address, so every test uses a different one. */
let from = ''
const newAddress = () => `asks-${++counter}@example.org`
beforeEach(async () => {
  from = `10.1.0.${++counter}`
  await set({ signUpEmailDomains: null, signUpNote: null, termsUrl: null })
})
const headers = () => ({ ...AS_CONSOLE, 'x-forwarded-for': from })
const ask = (email: string, more: { note?: string; acceptTerms?: boolean } = {}) =>
  anybody.requestSignUp({ body: { email, name: 'Ada', ...more }, headers: headers() })
const confirm = (token: string) => anybody.confirmSignUpRequest({ body: { token }, headers: headers() })
const waiting = async (api = admin) => (await api.listSignUpRequests()).items
async function domainAdmin(email: string, domain: string): Promise<{ api: ApiClient }> {
  await admin.createUser({
    body: { mustChangePassword: false, email, name: email, password: PASSWORD, role: 'domain_admin', domain },
  })
  return manager.signIn({ email, password: PASSWORD })
}
const mailsTo = (email: string) => smtp.mails.filter(mail => mail.to === email)
async function tokenFor(email: string, index = 0): Promise<string> {
  const tokens = () => mailsTo(email).flatMap(({ text }) => /sign-up\?request=(berth_[\w-]+)/.exec(text)?.[1] ?? [])
  await expect.poll(() => tokens().length).toBeGreaterThan(index)
  return tokens()[index] ?? ''
}

test('a confirmed request is listed, the admins get a mail, and accepting makes an account whose owner sets the password', async () => {
  await domainAdmin('head@school.example.org', 'school')
  const email = newAddress()
  expect(await ask(email.toUpperCase(), { note: 'For my thesis\nuntil March' })).toEqual({ next: 'confirm_email' })
  const token = await tokenFor(email)
  expect(await waiting()).toEqual([])
  expect(await codeOf(confirm(token))).toBe('ok')
  expect(await codeOf(confirm(token))).toBe('link_invalid')
  const [request] = await waiting()
  expect(request).toMatchObject({
    ...{ email, name: 'Ada', note: 'For my thesis\nuntil March', domain: 'school', confirmed: true },
  })
  await expect.poll(() => mailsTo('head@school.example.org').at(-1)?.text).toContain(email)
  expect(mailsTo('head@school.example.org').at(-1)?.text).not.toContain('thesis')

  const params = { id: String(request?.id) }
  const accepted = await admin.acceptSignUpRequest({ params, body: {} })
  expect(accepted).toMatchObject({ user: { email, role: 'user', domain: 'school', name: 'Ada' }, link: null })
  expect(await codeOf(admin.acceptSignUpRequest({ params, body: {} }))).toBe('sign_up_request_not_found')
  const link = () => /reset-password\?token=([\w-]+)/.exec(mailsTo(email).at(-1)?.text ?? '')?.[1]
  await expect.poll(link).toBeDefined()
  await anybody.resetPassword({ body: { token: link() ?? '', password: PASSWORD }, headers: headers() })
  expect(await codeOf(anybody.login({ body: { email, password: PASSWORD, kind: 'token' }, headers: headers() }))).toBe(
    'ok',
  )
  const { items } = await admin.listAuditLog({ query: { action: 'acceptSignUpRequest' } })
  const entry = items.find(({ result }) => result === 'ok')
  expect(entry).toMatchObject({ actor: 'admin@localhost', target: `sign-up-request:${params.id}`, detail: { email } })
})

test('the answer is the same for a new address, one that waits and one with an account; its owner alone is told', async () => {
  const known = newAddress()
  await manager.addUser(known)
  const waits = newAddress()
  await ask(waits)
  await confirm(await tokenFor(waits))
  const count = mailsTo(waits).length
  const fresh = newAddress()
  const replies = await Promise.all([ask(known), ask(waits), ask(fresh)])
  expect(new Set(replies.map(reply => JSON.stringify(reply))).size).toBe(1)
  await expect.poll(() => mailsTo(known).at(-1)?.text).toContain('there is an account with it already')
  await tokenFor(fresh)
  expect(mailsTo(waits).length).toBe(count)
  expect((await waiting()).filter(({ email }) => email !== waits)).toEqual([])
})

test('a request in the name of somebody else is not sent by the link of the owner', async () => {
  const email = newAddress()
  await ask(email, { note: 'by a stranger' })
  await tokenFor(email)
  await ask(email, { note: 'by the owner' })
  await confirm(await tokenFor(email, 1))
  expect((await waiting()).filter(one => one.email === email)).toMatchObject([{ note: 'by the owner' }])
  expect(await codeOf(confirm(await tokenFor(email, 0)))).toBe('link_invalid')
})

test('declining mails the reason; the admin of a domain sees and decides only what is for the domain', async () => {
  const email = newAddress()
  await ask(email)
  await confirm(await tokenFor(email))
  const request = (await waiting()).find(one => one.email === email)
  const params = { id: String(request?.id) }
  const elsewhere = await manager.addUser(newAddress(), 'domain_admin')
  const here = await domainAdmin(newAddress(), 'school')
  expect(await waiting(elsewhere.api)).toEqual([])
  expect(await codeOf(elsewhere.api.declineSignUpRequest({ params, body: {} }))).toBe('sign_up_request_not_found')
  expect((await waiting(here.api)).map(one => one.email)).toContain(email)
  const inOther = here.api.acceptSignUpRequest({ params, body: { domain: 'default' } })
  expect(await codeOf(inOther)).toBe('forbidden')
  const body = { reason: 'Accounts are for members of the department.' }
  expect(await here.api.declineSignUpRequest({ params, body })).toEqual({ mailed: true })
  await expect.poll(() => mailsTo(email).at(-1)?.text).toContain('members of the department')
  expect((await waiting()).map(one => one.email)).not.toContain(email)
})

test('without mail a request waits at once, unconfirmed, and accepting shows the link to pass on', async () => {
  await set({ smtpHost: null })
  const email = newAddress()
  expect(await ask(email)).toEqual({ next: 'wait' })
  const found = async () => (await waiting()).find(one => one.email === email)
  await expect.poll(found).toMatchObject({ confirmed: false })
  const params = { id: String((await found())?.id) }
  const { link } = await admin.acceptSignUpRequest({ params, body: { domain: 'default' } })
  expect(link?.url).toMatch(/#\/reset-password\?token=berth_/)
})

test('who may ask follows the settings: the mode, the domains of addresses, the terms; strangers see what is public', async () => {
  await set({ signUpEmailDomains: 'Example.org  example.com', signUpNote: 'For members.', termsUrl: CONSOLE })
  expect(await anybody.authOptions()).toMatchObject({
    ...{ signUp: 'request', signUpEmailDomains: 'example.org, example.com', signUpNote: 'For members.' },
  })
  expect(await codeOf(ask('ada@evil.example.net', { acceptTerms: true }))).toBe('bad_request')
  expect(await codeOf(ask('ada@example.org.evil.net', { acceptTerms: true }))).toBe('bad_request')
  expect(await codeOf(ask(newAddress()))).toBe('bad_request')
  expect(await codeOf(ask(newAddress(), { acceptTerms: true }))).toBe('ok')
  expect(await codeOf(set({ signUpEmailDomains: 'not a/domain' }))).toBe('bad_request')
  const signUp = { email: newAddress(), name: 'Ada', password: PASSWORD, acceptTerms: true }
  expect(await codeOf(anybody.signUp({ body: signUp, headers: headers() }))).toBe('invitation_invalid')
  for (const allowSignUp of ['off', 'invitation', 'open'] as const) {
    await set({ allowSignUp })
    expect(await codeOf(ask(newAddress()))).toBe('sign_up_closed')
  }
  expect(await codeOf(anybody.signUp({ body: { ...signUp, email: 'a@other.net' }, headers: headers() }))).toBe(
    'bad_request',
  )
})

test('somebody who has a whole /56 of IPv6 is limited as one is, and others in the same /48 are not yet', async () => {
  const site = (++counter).toString(16)
  const codes: unknown[] = []
  for (let index = 0; index < 24; index++) {
    from = `2001:db8:${site}:${(0x1200 + index).toString(16)}::1`
    codes.push(await codeOf(ask(newAddress())))
  }
  expect(codes.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 'ok'))
  expect(codes).toContain('rate_limited')
  from = `2001:db8:${site}:1300::1`
  expect(await codeOf(ask(newAddress()))).toBe('ok')
})

test('requests of one network address are limited', async () => {
  const codes: unknown[] = []
  for (let index = 0; index < 12; index++) codes.push(await codeOf(ask(newAddress())))
  expect(codes.slice(0, 4)).toEqual(['ok', 'ok', 'ok', 'ok'])
  expect(codes).toContain('rate_limited')
})
