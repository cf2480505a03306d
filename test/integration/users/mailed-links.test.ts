import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { type SmtpServer, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { codeOf, CONSOLE, PASSWORD, tokenOf } from './account-steps.ts'

/**
 * A mailed link is the only way for a person into an account to which somebody else has access: it ends the doubt about the password (ADR
 * 59, 67). So neither an intruder nor an administrator can delete it.
 */

let manager: TestManager
let smtp: SmtpServer
let lead: ApiClient
let world: AsyncDisposableStack
beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  manager = opening.use(await startTestManager())
  smtp = opening.use(await startSmtpServer())
  const { api } = await manager.signIn()
  const mail = { smtpHost: 'localhost', smtpPort: smtp.port, smtpSecurity: 'none', smtpFrom: 'b@example.org' } as const
  await api.updateSettings({ body: { publicUrl: CONSOLE, ...mail } })
  lead = (await manager.addUser('lead@example.org', 'domain_admin')).api
  world = opening.move()
})
afterAll(() => world.disposeAsync())

const KNOWN = ['Known-to-the-lead-1', 'Known-to-the-lead-2', 'Known-to-the-lead-3'] as const

/** The secret of a link that "Forgot password?" mails. */
async function forget(email: string): Promise<string> {
  const before = smtp.mails.length
  await manager.api().requestPasswordReset({ body: { email } })
  const find = () => smtp.mails.slice(before).find(({ text }) => text.includes('reset-password'))
  await expect.poll(find).toBeDefined()
  return tokenOf(find()?.text ?? '')
}

const reset = (token: string) => codeOf(manager.api().resetPassword({ body: { token, password: 'Chosen-by-Ann-4' } }))

/** Ways to keep the person out for as long as they are repeated. @param at counts the changes */
const WAYS: [string, (inside: ApiClient, at: { id: string; odd: 0 | 1 }) => Promise<unknown>][] = [
  [
    'chooses one password after the other',
    (inside, { odd }) =>
      inside.changePassword({ body: { oldPassword: KNOWN[odd === 0 ? 1 : 2], newPassword: KNOWN[odd === 0 ? 2 : 1] } }),
  ],
  ['ends all sign-ins of the account again and again', (_inside, { id }) => lead.endUserLogins({ params: { id } })],
  [
    'deactivates the account and activates it',
    async (_inside, { id }) => {
      await lead.updateUser({ params: { id }, body: { active: false } })
      await lead.updateUser({ params: { id }, body: { active: true } })
    },
  ],
]

test.each(WAYS)('the person gets in with "Forgot password?" while somebody %s', async (what, keepOut) => {
  const email = `ann-${WAYS.findIndex(([way]) => way === what)}@example.org`
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN[0] } })
  const first = { email, password: KNOWN[0], newPassword: KNOWN[1], kind: 'token' } as const
  const requested = await forget(email)
  const { token } = await manager.api().login({ body: first })
  const inside = manager.api(token ?? '')
  await keepOut(inside, { id, odd: 0 })
  await keepOut(inside, { id, odd: 1 })
  // The first link was requested before the first sign-in; another one is requested meanwhile.
  const another = await forget(email)
  await keepOut(inside, { id, odd: 0 })
  expect(await reset(requested)).toBe('ok')
  expect(await reset(another)).toBe('link_invalid')
  expect(await codeOf(manager.api().login({ body: { email, password: 'Chosen-by-Ann-4', kind: 'token' } }))).toBe('ok')
})

test('a person whose password nobody else knows ends mailed links with another one, and whoever reads the mail gets none', async () => {
  const email = 'careful@example.org'
  const { id } = await lead.createUser({ body: { email, name: 'Ann', password: KNOWN[0] } })
  expect(await reset(await forget(email))).toBe('ok')
  const { token } = await manager.api().login({ body: { email, password: 'Chosen-by-Ann-4', kind: 'token' } })
  const inHandOfThief = await forget(email)
  const body = { oldPassword: 'Chosen-by-Ann-4', newPassword: PASSWORD }
  await manager.api(token ?? '').changePassword({ body })
  expect(await reset(inHandOfThief)).toBe('link_invalid')
  const second = await forget(email)
  await lead.endUserLogins({ params: { id } })
  expect(await reset(second)).toBe('link_invalid')
})
