import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApiClient, type UserChange } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { type SmtpServer, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { totpCode } from '../../fixtures/totp-code.ts'
import { codeOf, CONSOLE, tokenOf } from './account-steps.ts'

/** Passwords that somebody else may know: their later fate, and who receives links. */

let manager: TestManager
let smtp: SmtpServer
let admin: ApiClient
let lead: ApiClient
beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  manager = opening.use(await startTestManager())
  smtp = opening.use(await startSmtpServer())
  admin = (await manager.signIn()).api
  await admin.createDomain({ body: { name: 'lab' } })
  lead = (await manager.addUser('lead@example.org', 'domain_admin')).api
  world = opening.move()
})
let world: AsyncDisposableStack
afterAll(() => world.disposeAsync())
beforeEach(() => setMail(false))

const setMail = (isOn: boolean) =>
  admin.updateSettings({
    body: isOn
      ? {
          publicUrl: CONSOLE,
          smtpHost: 'localhost',
          smtpPort: smtp.port,
          smtpSecurity: 'none',
          smtpFrom: 'b@example.org',
        }
      : { publicUrl: null, smtpHost: null },
  })
const KNOWN = 'Known-to-the-lead-1'
const OWN = 'Chosen-by-owner-2'
let number = 0
const newAddress = () => `known-${++number}@example.org`
const signIn = (email: string, password: string, newPassword?: string) =>
  manager.api().login({ body: { email, password, kind: 'token', ...(newPassword ? { newPassword } : {}) } })
async function madeByLead(): Promise<{ id: string; email: string }> {
  const email = newAddress()
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN } })
  return { id: id, email }
}

test.each<[string, UserChange]>([
  ['a higher role', { role: 'superadmin' }],
  ['another domain', { domain: 'lab' }],
])(
  'a password that an admin of a domain chose opens nothing after %s; a link sets the next one',
  async (_what, body) => {
    for (const isReplaced of [false, true]) {
      const { id, email } = await madeByLead()
      // Somebody who knows the first password chooses the second one, so it is as doubtful.
      if (isReplaced) await signIn(email, KNOWN, OWN)
      const { passwordLink, passwordFrom } = await admin.updateUser({ params: { id }, body })
      expect(passwordFrom).toBe('nobody')
      expect(await codeOf(signIn(email, isReplaced ? OWN : KNOWN, 'Another-one-3'))).toBe('login_failed')
      const token = tokenOf(passwordLink?.url ?? null)
      await manager.api().resetPassword({ body: { token, password: 'Another-one-3' } })
      const { user, token: own } = await signIn(email, 'Another-one-3')
      expect(user).toMatchObject({ passwordFrom: 'superadmin' })
      const chosen = { oldPassword: 'Another-one-3', newPassword: 'Another-one-4' }
      await manager.api(own ?? '').changePassword({ body: chosen })
      await admin.updateUser({ params: { id }, body: { role: 'user' } })
      const again = await admin.updateUser({ params: { id }, body: { role: 'superadmin' } })
      expect(again).toMatchObject({ passwordLink: null, passwordFrom: 'person' })
      expect(await codeOf(signIn(email, 'Another-one-4'))).toBe('ok')
      await admin.updateUser({ params: { id }, body: { role: 'user' } })
    }
  },
)

test('the link in the hand of an administrator leaves a doubt, of its own kind for a superadmin; the mailed one does not', async () => {
  const { id, email } = await madeByLead()
  const set = async (by: ApiClient, password: string) => {
    const { url } = await by.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
    await manager.api().resetPassword({ body: { token: tokenOf(url), password } })
    return (await admin.getUser({ params: { id } })).passwordFrom
  }
  expect(await set(lead, 'By-the-lead-5')).toBe('unknown')
  expect(await set(admin, 'By-the-admin-6')).toBe('superadmin')
  await setMail(true)
  await lead.createAccountLink({ params: { id }, body: { purpose: 'reset' } })
  await expect.poll(() => smtp.mailTo(email, /reset-password/)).toBeDefined()
  const token = tokenOf(smtp.mailTo(email, /reset-password/)?.text ?? '')
  await manager.api().resetPassword({ body: { token, password: 'By-the-person-7' } })
  expect((await admin.getUser({ params: { id } })).passwordFrom).toBe('person')
})

test('an import gives an admin of a domain no link of a person whom mail reaches, and says whose hand made the account', async () => {
  await setMail(true)
  const [email, without] = [newAddress(), `nobody-${++number}@localhost`]
  const { items } = await lead.importUsers({ body: { rows: [{ email }, { email: without }], mail: false } })
  expect(items).toMatchObject([{ outcome: 'created', link: null }, { outcome: 'created' }])
  expect(tokenOf(items[1]?.link?.url ?? null)).not.toBe('')
  await expect.poll(() => smtp.mailTo(email, /reset-password/)?.text).toContain('lead@example.org has made an account')
  const token = tokenOf(smtp.mailTo(email, /reset-password/)?.text ?? '')
  await manager.api().resetPassword({ body: { token, password: OWN } })
  const { api } = await manager.signIn({ email, password: OWN })
  expect((await api.me()).user).toMatchObject({ passwordFrom: 'person' })
  expect((await api.listMessages()).items).toMatchObject([{ about: 'account_made', from: 'lead@example.org' }])
  // Superadmins keep this way for people who have lost their mailbox, and the person is informed by mail.
  const other = newAddress()
  const [inHand] = (await admin.importUsers({ body: { rows: [{ email: other }] } })).items
  expect(tokenOf(inHand?.link?.url ?? null)).not.toBe('')
  await expect.poll(() => smtp.mailTo(other)?.text).toContain('admin@localhost made an account for you')
  // A check informs nobody.
  const checked = newAddress()
  await lead.importUsers({ body: { rows: [{ email: checked }], dryRun: true } })
  expect(smtp.mailTo(checked)).toBeUndefined()
})

test('whoever makes an account with a password is named to its person, by mail and in the account', async () => {
  await setMail(true)
  const { email } = await madeByLead()
  await expect.poll(() => smtp.mailTo(email)?.text).toContain('lead@example.org made an account for you, and chose')
  const { token } = await signIn(email, KNOWN, OWN)
  const { items } = await manager.api(token ?? '').listMessages()
  expect(items.map(({ about }) => about)).toContain('account_made_password')
})

test('where mail reaches the person, no secret of theirs passes through the hands of an admin of a domain', async () => {
  await setMail(true)
  const { id, email } = await madeByLead()
  const params = { id }
  expect(await codeOf(lead.updateUser({ params, body: { password: OWN } }))).toBe('forbidden')
  expect(await codeOf(lead.createAccountLink({ params, body: { purpose: 'reset', inHand: true } }))).toBe('forbidden')
  expect(await lead.createAccountLink({ params, body: { purpose: 'reset' } })).toMatchObject({ url: null })
  // The person is informed as well.
  await expect.poll(() => smtp.mailTo(email, /made a link/)?.text).toContain('lead@example.org made a link')
  // For people who have lost their mailbox.
  const { url } = await admin.createAccountLink({ params, body: { purpose: 'reset', inHand: true } })
  expect(tokenOf(url)).not.toBe('')
  const { passwordLink } = await admin.updateUser({ params, body: { role: 'domain_admin' } })
  expect(passwordLink).toMatchObject({ url: null, purpose: 'reset' })
})

test('only a superadmin lets a password stay that somebody else has chosen, and it is marked', async () => {
  const body = { email: newAddress(), name: 'Robot', password: KNOWN, mustChangePassword: false }
  expect(await codeOf(lead.createUser({ body }))).toBe('forbidden')
  const robot = await admin.createUser({ body })
  expect(robot).toMatchObject({ mustChangePassword: false, passwordFrom: 'superadmin' })
  const { id } = await madeByLead()
  const stay = { params: { id }, body: { mustChangePassword: false } }
  expect(await codeOf(lead.updateUser(stay))).toBe('forbidden')
  // A password for an existing account must be replaced in every case.
  const set = await admin.updateUser({ params: { id }, body: { password: OWN, mustChangePassword: false } })
  expect(set).toMatchObject({ mustChangePassword: true, passwordFrom: 'superadmin' })
})

test('a password of a sign-up whose address no mail confirmed ends with a higher role; a mailed link confirms it', async () => {
  const signUp = async (invitation?: string) => {
    const email = newAddress()
    await manager.api().signUp({ body: { email, name: 'Ann', password: KNOWN, ...(invitation ? { invitation } : {}) } })
    return email
  }
  const idOf = async (email: string) => (await admin.listUsers({ query: { search: email } })).items[0]?.id ?? ''
  const raise = async (email: string) =>
    (await admin.updateUser({ params: { id: await idOf(email) }, body: { role: 'superadmin' } })).passwordFrom
  await admin.updateSettings({ body: { allowSignUp: 'open' } })
  try {
    const invited = await signUp((await lead.createInvitation({ body: {} })).token)
    expect(await codeOf(signIn(invited, KNOWN))).toBe('ok')
    expect(await raise(invited)).toBe('nobody')
    expect(await codeOf(signIn(invited, KNOWN))).toBe('login_failed')
    // The admin signs up with another person's name and address, and also confirms the address.
    const asked = await signUp()
    const { url } = await lead.createAccountLink({ params: { id: await idOf(asked) }, body: { purpose: 'verify' } })
    const token = tokenOf(url)
    await manager.api().verifyEmail({ body: { token, password: KNOWN } })
    expect(await raise(asked)).toBe('nobody')

    await setMail(true)
    const own = await signUp()
    await expect.poll(() => smtp.mailTo(own, /verify/)).toBeDefined()
    const mailed = tokenOf(smtp.mailTo(own, /verify/)?.text ?? '')
    await manager.api().verifyEmail({ body: { token: mailed, password: KNOWN } })
    expect(await raise(own)).toBe('person')

    // An earlier password from an invitation may belong to another holder of it: a link requested later does not show whose it is.
    const byLead = await signUp((await lead.createInvitation({ body: {} })).token)
    await expect.poll(() => smtp.mailTo(byLead, /verify/)).toBeDefined()
    await manager.api().requestVerification({ body: { email: byLead } })
    const mails = () => smtp.mails.filter(({ to }) => to === byLead)
    await expect.poll(() => mails().length).toBe(2)
    const later = tokenOf(mails().at(-1)?.text ?? '')
    await manager.api().verifyEmail({ body: { token: later, password: KNOWN } })
    expect(await raise(byLead)).toBe('nobody')
  } finally {
    await admin.updateSettings({ body: { allowSignUp: 'off' } })
  }
})

test('whoever may know the password switches no second factor on where mail reaches the person, whose mailed link then lets the person do it', async () => {
  const { email } = await madeByLead()
  const { token: first } = await signIn(email, KNOWN, OWN)
  const inside = manager.api(first ?? '')
  // Begun without mail, when the person has no other way in.
  const { secret } = await inside.enrolTotp({ body: { password: OWN } })
  await setMail(true)
  const refused = { code: 'forbidden', detail: { cause: 'own_password_before_factor' } }
  await expect(inside.confirmTotp({ body: { code: totpCode(secret) } })).rejects.toMatchObject(refused)
  await expect(inside.enrolTotp({ body: { password: OWN } })).rejects.toMatchObject(refused)
  await manager.api().requestPasswordReset({ body: { email } })
  await expect.poll(() => smtp.mailTo(email, /reset-password/)).toBeDefined()
  const token = tokenOf(smtp.mailTo(email, /reset-password/)?.text ?? '')
  await manager.api().resetPassword({ body: { token, password: 'By-the-person-7' } })
  const { token: signedIn } = await signIn(email, 'By-the-person-7')
  const person = manager.api(signedIn ?? '')
  const own = await person.enrolTotp({ body: { password: 'By-the-person-7' } })
  expect(await codeOf(person.confirmTotp({ body: { code: totpCode(own.secret) } }))).toBe('ok')
})

test('without mail, and at addresses that no mail reaches, a second factor is switched on whoever knows the password', async () => {
  const body = { email: `known-${++number}@localhost`, name: 'Ann', password: KNOWN }
  await lead.createUser({ body })
  const { token } = await signIn(body.email, KNOWN, OWN)
  await setMail(true)
  expect(await codeOf(manager.api(token ?? '').enrolTotp({ body: { password: OWN } }))).toBe('ok')
  await setMail(false)
  const { email } = await madeByLead()
  const { token: second } = await signIn(email, KNOWN, OWN)
  expect(await codeOf(manager.api(second ?? '').enrolTotp({ body: { password: OWN } }))).toBe('ok')
})
