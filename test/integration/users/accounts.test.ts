import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, type SystemSettingsChange, UserId } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { startTestManager, type TestManager, AS_CONSOLE } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { type SmtpServer, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { codeOf, CONSOLE, PASSWORD, tokenOf } from './account-steps.ts'

let manager: TestManager
let smtp: SmtpServer
let admin: ApiClient
let anybody: ApiClient
beforeAll(async () => {
  manager = await startTestManager()
  smtp = await startSmtpServer()
  admin = (await manager.signIn()).api
  anybody = manager.api()
})
afterAll(async () => {
  await manager[Symbol.asyncDispose]()
  await smtp[Symbol.asyncDispose]()
})

/** Open to everybody, with verification by mail. */
const OPEN = {
  allowSignUp: 'open',
  requireEmailVerification: true,
  publicUrl: CONSOLE,
  smtpHost: 'localhost',
  smtpSecurity: 'none',
  smtpFrom: 'berth@example.org',
} as const
const set = (body: SystemSettingsChange = {}) =>
  admin.updateSettings({ body: { ...OPEN, smtpPort: smtp.port, signUpDomain: 'default', ...body } })

let counter = 0
const newAddress = () => `person-${++counter}@example.org`
/** Requests of strangers are counted by network address, so every test uses a different one. */
let from = '10.0.0.1'
beforeEach(async () => {
  from = `10.0.${Math.floor(++counter / 250)}.${counter % 250}`
  await set()
})
const headers = () => ({ ...AS_CONSOLE, 'x-forwarded-for': from })

const signUp = (email: string, more: { password?: string; invitation?: string; acceptTerms?: boolean } = {}) =>
  anybody.signUp({ body: { email, name: 'Somebody', password: PASSWORD, ...more }, headers: headers() })
const signIn = (email: string, password = PASSWORD) =>
  anybody.login({ body: { email, password, kind: 'token' }, headers: headers() })
const apiFor = async (...who: Parameters<typeof signIn>) => manager.api((await signIn(...who)).token ?? '')

const linkTo = async (email: string, page: 'verify' | 'reset-password') => {
  const pattern = new RegExp(`${CONSOLE}/#/${page}\\?token=`)
  await expect.poll(() => smtp.mailTo(email, pattern)).toBeDefined()
  return tokenOf(smtp.mailTo(email, pattern)?.text ?? '')
}

test('a new account has no address that looks like that of another; accounts from before sign in with theirs', async () => {
  const body = { name: 'Admin', password: PASSWORD, mustChangePassword: false }
  for (const email of ['\u0430dmin@localhost', 'bj\u00f6rn@localhost', 'bjo\u0308rn@localhost'])
    expect(await codeOf(admin.createUser({ body: { ...body, email } })), email).toBe('bad_request')
  const before = 'bj\u00f6rn@localhost'
  const { id } = await admin.createUser({ body: { ...body, email: 'bjorn@localhost' } })
  await using store = await openToRead({ ...manager.source, log: silentLog })
  await store.db.updateTable('users').set({ email: before }).where('id', '=', id).execute()
  expect((await (await apiFor(before)).me()).user.email).toBe(before)
})

describe('signing up', () => {
  test('a stranger confirms the address with the mailed link and the password, and can sign in; the link works once', async () => {
    const email = newAddress()
    expect(await signUp(email)).toEqual({ next: 'verify_email' })
    expect(await codeOf(signIn(email, 'Not-the-one-2'))).toBe('login_failed')
    expect(await codeOf(signIn(email))).toBe('email_unverified')
    // The form of a browser leaves out blanks at the ends; programs and command lines send what was pasted.
    expect(await codeOf(signIn(` ${email.toUpperCase()}\t`))).toBe('email_unverified')
    expect((await admin.listUsers({ query: { search: email } })).items).toMatchObject([{ emailVerified: false }])
    const token = await linkTo(email, 'verify')
    const verify = (password = PASSWORD) => anybody.verifyEmail({ body: { token, password }, headers: headers() })
    expect(await codeOf(verify('Not-the-one-2'))).toBe('login_failed')
    const both = await Promise.all([codeOf(verify()), codeOf(verify())])
    expect(both.toSorted()).toEqual(['link_invalid', 'ok'])
    const { user } = await (await apiFor(email)).me()
    expect(user).toMatchObject({ email, role: 'user', domain: 'default', name: 'Somebody' })
    expect(user.groups.map(group => group.name)).toEqual(['default'])
  })

  test('signing up with the address of an account gets the same answer and changes nothing; only its owner gets a mail', async () => {
    const email = newAddress()
    await manager.addUser(email)
    const before = await admin.listUsers({ query: { search: email } })
    expect(await signUp(email.toUpperCase(), { password: 'Of-a-stranger-3' })).toEqual({ next: 'verify_email' })
    await expect.poll(() => smtp.mailTo(email)?.text).toContain('there is an account with it already')
    expect(smtp.mailTo(email)?.text).not.toMatch(/token=/)
    expect(await codeOf(signIn(email, 'Of-a-stranger-3'))).toBe('login_failed')
    expect(await codeOf(signIn(email))).toBe('ok')
    expect(await admin.listUsers({ query: { search: email } })).toEqual(before)
  })

  test('signing up with the address of somebody else gains nothing when its owner opens the link', async () => {
    const email = newAddress()
    await signUp(email, { password: 'Of-a-stranger-3' })
    const ofStranger = await linkTo(email, 'verify')
    await signUp(email)
    await expect.poll(() => smtp.mails.filter(mail => mail.to === email).length).toBe(2)
    const own = await linkTo(email, 'verify')
    expect(own).not.toBe(ofStranger)
    const verify = (token: string) => codeOf(anybody.verifyEmail({ body: { token, password: PASSWORD } }))
    expect(await verify(ofStranger)).toBe('login_failed')
    expect(await codeOf(signIn(email, 'Of-a-stranger-3'))).toBe('email_unverified')
    expect(await verify(own)).toBe('ok')
    expect(await codeOf(signIn(email, 'Of-a-stranger-3'))).toBe('login_failed')
    expect(await codeOf(signIn(email))).toBe('ok')
    expect(await codeOf(anybody.verifyEmail({ body: { token: ofStranger, password: 'Of-a-stranger-3' } }))).toBe(
      'link_invalid',
    )
  })

  test('the link can be requested again; other addresses get the same reply and no mail', async () => {
    const email = newAddress()
    await signUp(email)
    const first = await linkTo(email, 'verify')
    const again = (address: string) => anybody.requestVerification({ body: { email: address }, headers: headers() })
    expect(await again(email)).toEqual({})
    await expect.poll(() => linkTo(email, 'verify')).not.toBe(first)
    const count = smtp.mails.length
    expect(await again('admin@localhost')).toEqual({})
    expect(await again('nobody@example.org')).toEqual({})
    const other = newAddress()
    await signUp(other)
    await linkTo(other, 'verify')
    expect(smtp.mails.length).toBe(count + 1)
  })

  test.each([
    ['POST', 'sign-up', { email: 'a@example.org', name: 'A\0B', password: PASSWORD }],
    ['POST', 'sign-up', { email: 'a\0@example.org', name: 'A', password: PASSWORD }],
    ['POST', 'password-reset', { email: 'a\0b' }],
    ['POST', 'verification', { email: 'a\u001b[2J' }],
    ['POST', 'login', { email: 'a\0b', password: 'x' }],
  ])('%s %s with control characters is refused and does not reach the database', async (method, path, body) => {
    const reply = await rawRequest(`${manager.url}/api/v1/auth/${path}`, { method, headers: headers(), body })
    expect(reply.json).toMatchObject({ code: 'bad_request' })
  })

  test('two sign-ups with one address at the same time create one account', async () => {
    const email = newAddress()
    const replies = await Promise.all([signUp(email), signUp(email.toUpperCase()), signUp(email)])
    expect(replies).toEqual([{ next: 'verify_email' }, { next: 'verify_email' }, { next: 'verify_email' }])
    expect((await admin.listUsers({ query: { search: email } })).items).toHaveLength(1)
  })

  test('sign-up follows the settings: closed, terms, weak passwords, no confirmation, without mail through an admin', async () => {
    expect(await codeOf(signUp(newAddress(), { password: 'weak' }))).toBe('weak_password')
    await set({ allowSignUp: 'off' })
    expect(await codeOf(signUp(newAddress()))).toBe('sign_up_closed')
    await set({ termsUrl: 'https://example.org/terms' })
    expect(await codeOf(signUp(newAddress()))).toBe('bad_request')
    expect(await codeOf(signUp(newAddress(), { acceptTerms: true }))).toBe('ok')
    await set({ termsUrl: null, requireEmailVerification: false })
    const email = newAddress()
    expect(await signUp(email)).toEqual({ next: 'sign_in' })
    expect(await codeOf(signIn(email))).toBe('ok')
    await set({ smtpHost: null })
    const unmailed = newAddress()
    expect(await signUp(unmailed)).toEqual({ next: 'ask_admin' })
    expect(await codeOf(anybody.requestVerification({ body: { email: unmailed }, headers: headers() }))).toBe(
      'mail_not_configured',
    )
    const [user] = (await admin.listUsers({ query: { search: unmailed } })).items
    const id = user?.id ?? UserId.parse('')
    const link = await admin.createAccountLink({ params: { id }, body: { purpose: 'verify' } })
    expect(link.url).toMatch(new RegExp(`^${CONSOLE}/#/verify\\?token=`))
    expect(await codeOf(signIn(unmailed))).toBe('email_unverified')
    await anybody.verifyEmail({ body: { token: tokenOf(link.url), password: PASSWORD } })
    expect(await codeOf(signIn(unmailed))).toBe('ok')
    const { token: invitation } = await admin.createInvitation({ body: {} })
    const invited = newAddress()
    // Links cannot be mailed, and an admin has handed the invitation out.
    expect(await signUp(invited, { invitation })).toEqual({ next: 'sign_in' })
    expect(await codeOf(signIn(invited))).toBe('ok')
    const again = admin.createAccountLink({ params: { id }, body: { purpose: 'verify' } })
    expect(await codeOf(again)).toBe('bad_request')
  })

  test('many sign-ups from one place have to wait, others do not', async () => {
    const codes: unknown[] = []
    for (let i = 0; i < 13; i++) codes.push(await codeOf(signUp(newAddress())))
    expect(codes.filter(code => code === 'rate_limited').length).toBeGreaterThan(0)
    expect(codes.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 'ok'))
    from = '10.9.9.9'
    expect(await codeOf(signUp(newAddress()))).toBe('ok')
  })

  test('an IPv6 network counts as one place, whichever of its addresses is used', async () => {
    const codes: unknown[] = []
    for (let i = 1; i <= 13; i++) {
      from = `2001:db8:0:1::${i.toString(16)}`
      codes.push(await codeOf(signUp(newAddress())))
    }
    expect(codes).toContain('rate_limited')
    for (let i = 1; i <= 13; i++) {
      from = `2001:db8:0:2::${i.toString(16)}`
      const email = `nobody-${i}@example.org`
      codes.push(await codeOf(anybody.requestPasswordReset({ body: { email }, headers: headers() })))
    }
    expect(codes.slice(13)).toContain('rate_limited')
    from = '2001:db8:0:3::1'
    expect(await codeOf(signUp(newAddress()))).toBe('ok')
  })
})

describe('invitations', () => {
  test('an invitation admits one person to its domain, even if many use it at the same time', async () => {
    await set({ allowSignUp: 'invitation', requireEmailVerification: false })
    await admin.createDomain({ body: { name: 'school' } })
    expect(await codeOf(signUp(newAddress()))).toBe('invitation_invalid')
    const made = await admin.createInvitation({ body: { domain: 'school', note: 'for Ada' } })
    expect(made).toMatchObject({ status: 'open', note: 'for Ada', domain: 'school' })
    expect(made.url).toBe(`${CONSOLE}/#/sign-up?invitation=${made.token}`)
    const people = [newAddress(), newAddress(), newAddress()]
    const codes = await Promise.all(people.map(email => codeOf(signUp(email, { invitation: made.token }))))
    expect(codes.toSorted()).toEqual(['invitation_invalid', 'invitation_invalid', 'ok'])
    const { user } = await (await apiFor(people[codes.indexOf('ok')] ?? '')).me()
    expect(user.domain).toBe('school')
    const { items } = await admin.listInvitations()
    expect(items.find(one => one.id === made.id)).toMatchObject({ status: 'used', usedBy: user.id })
    expect(JSON.stringify(items)).not.toContain(made.token)
    expect(await codeOf(admin.revokeInvitation({ params: { id: made.id } }))).toBe('invitation_not_found')
  })

  test('an address that has an account does not use up an invitation', async () => {
    await set({ allowSignUp: 'invitation' })
    const { token, id } = await admin.createInvitation({ body: {} })
    expect(await codeOf(signUp('admin@example.org', { invitation: `${token}x` }))).toBe('invitation_invalid')
    const taken = newAddress()
    await manager.addUser(taken)
    expect(await codeOf(signUp(taken, { invitation: token }))).toBe('ok')
    expect((await admin.listInvitations()).items.find(one => one.id === id)?.status).toBe('open')
    await admin.revokeInvitation({ params: { id } })
    expect(await codeOf(signUp(newAddress(), { invitation: token }))).toBe('invitation_invalid')
  })

  test('an admin of a domain invites to that domain only, and sees no other invitations', async () => {
    const domainAdmin = (await manager.addUser(newAddress(), 'domain_admin')).api
    await admin.createDomain({ body: { name: 'elsewhere' } })
    const foreign = await admin.createInvitation({ body: { domain: 'elsewhere' } })
    expect(await codeOf(domainAdmin.createInvitation({ body: { domain: 'elsewhere' } }))).toBe('forbidden')
    const own = await domainAdmin.createInvitation({ body: {} })
    const seen = (await domainAdmin.listInvitations()).items.map(one => one.id)
    expect(seen).toContain(own.id)
    expect(seen).not.toContain(foreign.id)
    const revoke = (id: string) => codeOf(domainAdmin.revokeInvitation({ params: { id } }))
    expect(await revoke(foreign.id)).toBe('invitation_not_found')
    expect(await revoke(own.id)).toBe('ok')
  })
})

describe('importing users', () => {
  test('a dry run does not tell an admin of a domain which addresses have accounts in other domains', async () => {
    const [lead, near, far, free] = [newAddress(), newAddress(), newAddress(), newAddress()]
    await admin.createDomain({ body: { name: 'far' } })
    await manager.addUser(lead, 'domain_admin')
    await manager.addUser(near)
    await manager.addUser(far, 'user', 'far')
    const asked = [near, far, far.toUpperCase(), free, free].map(email => ({ email }))
    const wrong = [far, free].map(email => ({ email, groups: ['nowhere'] }))
    const api = await apiFor(lead, 'Their-own-pass-1')
    const dry = async (rows: readonly { email: string }[]) =>
      outcomes((await api.importUsers({ body: { rows: [...rows], dryRun: true } })).items)
    expect(await dry(asked)).toEqual([
      [near, 'exists', null],
      [far, 'created', null],
      [far.toUpperCase(), 'exists', null],
      [free, 'created', null],
      [free, 'exists', null],
    ])
    expect((await dry(wrong)).map(([, ...rest]) => rest)).toEqual([
      ['refused', 'group_not_found'],
      ['refused', 'group_not_found'],
    ])
    expect(outcomes((await admin.importUsers({ body: { rows: [{ email: far }], dryRun: true } })).items)).toEqual([
      [far, 'exists', null],
    ])
    expect(outcomes((await api.importUsers({ body: { rows: [{ email: far }] } })).items)).toEqual([
      [far, 'exists', null],
    ])
  })

  const outcomes = (items: readonly { email: string; outcome: string; error: { code: string } | null }[]) =>
    items.map(({ email, outcome, error }) => [email, outcome, error?.code ?? null])

  test('each row is created or refused by itself; the link sets the password, and the same file may be imported again', async () => {
    const [ada, bob, taken] = [newAddress(), newAddress(), newAddress()]
    await manager.addUser(taken)
    const rows = [
      { email: ada.toUpperCase(), name: 'Ada' },
      { email: 'not an address' },
      { email: taken, name: 'Somebody else' },
      { email: bob, role: 'domain_admin', groups: ['DEFAULT'] },
      { email: newAddress(), groups: ['nowhere'] },
      { email: newAddress(), role: 'king' },
      { email: ada },
    ]
    const wanted = [
      [ada, 'created', null],
      ['not an address', 'refused', 'bad_request'],
      [taken, 'exists', null],
      [bob, 'created', null],
      [rows[4]?.email, 'refused', 'group_not_found'],
      [rows[5]?.email, 'refused', 'bad_request'],
      [ada, 'exists', null],
    ]
    const dry = await admin.importUsers({ body: { rows, dryRun: true } })
    expect(outcomes(dry.items)).toEqual(wanted)
    expect(dry.items.every(({ id, link }) => id === null && link === null)).toBe(true)
    expect((await admin.listUsers({ query: { search: ada } })).items).toEqual([])

    const { items } = await admin.importUsers({ body: { rows } })
    expect(outcomes(items)).toEqual(wanted)
    expect(items[5]?.error?.message).toContain('role')
    expect((await admin.listUsers({ query: { search: bob } })).items).toMatchObject([
      { name: bob.split('@')[0], role: 'domain_admin', domain: 'default', groups: [{ name: 'default' }] },
    ])
    expect((await admin.listUsers({ query: { search: taken } })).items[0]?.name).not.toBe('Somebody else')
    const token = tokenOf(items[0]?.link?.url ?? '')
    expect(await codeOf(signIn(ada))).toBe('login_failed')
    await anybody.resetPassword({ body: { token, password: PASSWORD }, headers: headers() })
    expect((await (await apiFor(ada)).me()).user.email).toBe(ada)
    expect(outcomes((await admin.importUsers({ body: { rows } })).items).map(([, outcome]) => outcome)).toEqual([
      'exists',
      'refused',
      'exists',
      'exists',
      'refused',
      'refused',
      'exists',
    ])
    const told = JSON.stringify(await admin.listAuditLog({ query: { action: 'importUsers' } }))
    expect(told).toContain(items[0]?.id)
    expect(told).not.toContain(token)
  })

  test('an imported superadmin without a password does not count: the last one with a password stays', async () => {
    await admin.createDomain({ body: { name: 'reserve' } })
    const email = newAddress()
    const body = { rows: [{ email, role: 'superadmin', domain: 'reserve' }] }
    const { items } = await admin.importUsers({ body })
    const deactivate = () => codeOf(admin.updateDomain({ params: { name: 'default' }, body: { active: false } }))
    expect(await deactivate()).toBe('last_superadmin')
    const token = tokenOf(items[0]?.link?.url ?? '')
    await anybody.resetPassword({ body: { token, password: PASSWORD }, headers: headers() })
    // Nobody can deactivate their own domain: the check of the last superadmin, which comes first, has passed.
    expect(await deactivate()).toBe('forbidden')
    await admin.updateUser({ params: { id: UserId.parse(items[0]?.id) }, body: { active: false } })
  })

  test('an admin of a domain imports into that domain only, and makes no superadmins', async () => {
    const domainAdmin = (await manager.addUser(newAddress(), 'domain_admin')).api
    const [own, foreign, high] = [newAddress(), newAddress(), newAddress()]
    const rows = [{ email: own }, { email: foreign, domain: 'elsewhere' }, { email: high, role: 'superadmin' }]
    const { items } = await domainAdmin.importUsers({ body: { rows } })
    expect(outcomes(items)).toEqual([
      [own, 'created', null],
      [foreign, 'refused', 'forbidden'],
      [high, 'refused', 'forbidden'],
    ])
  })

  test('links are mailed where the admin wants it, and only to new users', async () => {
    const [fresh, taken] = [newAddress(), newAddress()]
    await manager.addUser(taken)
    const body = { rows: [{ email: fresh }, { email: taken }], mail: true }
    const { items } = await admin.importUsers({ body })
    expect(items.map(({ link }) => link)).toEqual([null, null])
    const token = await linkTo(fresh, 'reset-password')
    await anybody.resetPassword({ body: { token, password: PASSWORD }, headers: headers() })
    expect(await codeOf(signIn(fresh))).toBe('ok')
    expect(smtp.mailTo(taken, /reset-password/)).toBeUndefined()
    await set({ smtpHost: null })
    expect(await codeOf(admin.importUsers({ body }))).toBe('mail_not_configured')
  })
})

describe('a forgotten password', () => {
  const request = (email: string) => anybody.requestPasswordReset({ body: { email }, headers: headers() })
  const reset = (token: string, password: string) => codeOf(anybody.resetPassword({ body: { token, password } }))

  test('the mailed link sets a new password once, ends every sign-in, and ends the waiting time of the account', async () => {
    const email = newAddress()
    const user = await manager.addUser(email)
    for (let i = 0; i < 6; i++) await codeOf(signIn(email, 'guess'))
    expect(await codeOf(signIn(email))).toBe('login_throttled')
    expect(await request(email)).toEqual({})
    const token = await linkTo(email, 'reset-password')
    expect(await reset(token, 'weak')).toBe('weak_password')
    expect(await reset(token, PASSWORD)).toBe('password_unchanged')
    const both = await Promise.all([reset(token, 'Brand-new-pass-2'), reset(token, 'Brand-new-pass-3')])
    expect(both.toSorted()).toEqual(['link_invalid', 'ok'])
    expect(await codeOf(user.api.me())).toBe('not_signed_in')
    const chosen = both[0] === 'ok' ? 'Brand-new-pass-2' : 'Brand-new-pass-3'
    expect(await codeOf(signIn(email, chosen))).toBe('ok')
    expect(await codeOf(signIn(email))).toBe('login_failed')
    await expect.poll(() => smtp.mailTo(email)?.text).toContain('was changed')
    const told = await admin.listAuditLog({ query: { action: 'resetPassword' } })
    expect(told.items.filter(row => row.result === 'ok').map(row => row.actedAs)).toContain(email)
    expect(JSON.stringify(told)).not.toMatch(/Brand-new|berth_/)
  })

  test('neither the reply nor its duration reveals whether an address has an account', async () => {
    const email = newAddress()
    await manager.addUser(email)
    const timed = async (address: string) => {
      const startedAt = performance.now()
      const reply = await rawRequest(`${manager.url}/api/v1/auth/password-reset`, {
        method: 'POST',
        headers: headers(),
        body: { email: address },
      })
      return { text: reply.text, status: reply.status, ms: performance.now() - startedAt }
    }
    await timed('warm@example.org')
    // The fastest of a few, because a busy machine delays any of them.
    const quickest = { known: Infinity, unknown: Infinity }
    for (let time = 0; time < 3; time++) {
      const [known, unknown] = [await timed(email), await timed('nobody-at-all@example.org')]
      expect(known.status).toBe(202)
      expect({ ...unknown, ms: 0 }).toEqual({ ...known, ms: 0 })
      quickest.known = Math.min(quickest.known, known.ms)
      quickest.unknown = Math.min(quickest.unknown, unknown.ms)
    }
    // The lookup and the mail happen after the reply; the limit is generous, because machines differ.
    expect(Math.abs(quickest.known - quickest.unknown)).toBeLessThan(1_000)
    await linkTo(email, 'reset-password')
    expect(smtp.mailTo('nobody-at-all@example.org')).toBeUndefined()
  })

  test('repeated requests of a stranger do not prevent a new password and do not fill a mailbox', async () => {
    const email = newAddress()
    await manager.addUser(email)
    for (let i = 0; i < 9; i++) expect(await codeOf(request(email))).toBe('ok')
    expect(await codeOf(request(email))).toBe('ok')
    expect(await codeOf(request(email))).toBe('rate_limited')
    // The owner, from another address: no error, and the link requested by the stranger works.
    from = '10.77.0.1'
    expect(await codeOf(request(email))).toBe('ok')
    const token = await linkTo(email, 'reset-password')
    expect(smtp.mails.filter(mail => mail.to.includes(email)).length).toBeLessThan(7)
    expect(await reset(token, 'Brand-new-pass-9')).toBe('ok')
  })

  test('without mail an admin hands out the link; an admin of a domain only to users of that domain', async () => {
    await set({ smtpHost: null, publicUrl: null })
    const email = newAddress()
    const user = await manager.addUser(email)
    expect(await codeOf(request(email))).toBe('mail_not_configured')
    const id = UserId.parse(user.id)
    const domainAdmin = (await manager.addUser(newAddress(), 'domain_admin')).api
    const link = (api: ApiClient, of: UserId) =>
      api.createAccountLink({ params: { id: of }, body: { purpose: 'reset' } })
    const { id: adminId } = (await admin.me()).user
    expect(await codeOf(link(domainAdmin, adminId))).toBe('user_not_found')
    expect(await codeOf(link(user.api, id))).toBe('forbidden')
    const { url, expiresAt } = await link(domainAdmin, id)
    // Without a public address: the address at which the admin uses the console.
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/reset-password\?token=/)
    expect(new Date(expiresAt).getTime() - Date.now()).toBeLessThan(31 * 60_000)
    expect(await reset(tokenOf(url), 'Brand-new-pass-2')).toBe('ok')
    expect(await codeOf(signIn(email, 'Brand-new-pass-2'))).toBe('ok')
    await admin.updateUser({ params: { id }, body: { active: false } })
    expect(await codeOf(link(admin, id))).toBe('forbidden')
  })

  test('a link becomes invalid when its account changes: another role, a new password', async () => {
    const { id, api } = await manager.addUser(newAddress())
    const params = { id: UserId.parse(id) }
    await set({ smtpHost: null, publicUrl: null })
    const link = async (by: ApiClient) =>
      tokenOf((await by.createAccountLink({ params, body: { purpose: 'reset' } })).url)
    const domainAdmin = (await manager.addUser(newAddress(), 'domain_admin')).api
    const before = await link(admin)
    await api.changePassword({ body: { oldPassword: PASSWORD, newPassword: 'Brand-new-pass-4' } })
    expect(await reset(before, 'Brand-new-pass-5')).toBe('link_invalid')
    // Otherwise an admin of a domain could gain rights by making a link for somebody who is about to become a superadmin.
    const token = await link(domainAdmin)
    await admin.updateUser({ params, body: { role: 'superadmin' } })
    expect(await reset(token, 'Brand-new-pass-5')).toBe('link_invalid')
    await admin.updateUser({ params, body: { role: 'user' } })
  })

  test('the current password is refused as the new one', async () => {
    const { api } = await manager.addUser(newAddress())
    const change = api.changePassword({ body: { oldPassword: PASSWORD, newPassword: PASSWORD } })
    expect(await codeOf(change)).toBe('password_unchanged')
  })
})
