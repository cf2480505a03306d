import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cli, createCli, loginCommand } from '../../fixtures/cli.ts'
import { ADMIN, startTestManager, type TestManager } from '../../fixtures/manager.ts'

let manager: TestManager
let cli: Cli
beforeAll(async () => {
  manager = await startTestManager()
  cli = await createCli()
})
afterAll(async () => {
  await manager[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

const berth: Cli['run'] = (args, input) => cli.run(args, input)
const json = (reply: { out: string }) => JSON.parse(reply.out) as Record<string, unknown>
const login = (input: string, ...more: string[]) => berth([...loginCommand(manager.url), ...more], input)

test('an admin configures the system, invites people and hands out links; secrets come from standard input', async () => {
  expect((await login(`${ADMIN.password}\n`)).code).toBe(0)
  const set = await berth(
    ['admin', 'settings', 'set', 'allowSignUp=invitation', 'smtpPort=2525', '--smtp-password-stdin', '--json'],
    'Very-secret-words-1\n',
  )
  expect(json(set)).toMatchObject({ allowSignUp: 'invitation', smtpPort: 2525, smtpPasswordSet: true })
  const show = await berth(['admin', 'settings', 'show'])
  expect(show.out).toMatch(/^allowSignUp\s+invitation\s+admin@localhost\s/m)
  expect(show.out).not.toContain('[object')
  expect(show.out).not.toContain('Very-secret')
  expect(await berth(['admin', 'settings', 'set', 'allowSignUp=everybody'])).toMatchObject({ code: 2 })
  expect(await berth(['admin', 'settings', 'set'])).toMatchObject({ code: 2 })
  const mail = await berth(['admin', 'settings', 'test-mail', 'ada@example.org'])
  expect(mail).toMatchObject({ code: 1 })
  expect(mail.err).toContain('mail_not_configured')

  const invited = await berth(['admin', 'invitation', 'create', '--note', 'for Ada', '--days', '3'])
  expect(invited.out).toMatch(/^http.*\/#\/sign-up\?invitation=berth_[\w-]{43}\n$/)
  const [invitation] = JSON.parse((await berth(['admin', 'invitation', 'ls', '--json'])).out) as { id: string }[]
  expect(invitation).toMatchObject({ note: 'for Ada', status: 'open' })
  expect(await berth(['admin', 'invitation', 'revoke', String(invitation?.id)])).toMatchObject({ code: 0 })
  expect(await berth(['admin', 'invitation', 'revoke', String(invitation?.id)])).toMatchObject({ code: 4 })

  await berth(['admin', 'settings', 'set', 'allowSignUp=request'])
  for (const name of ['noor', 'jonas']) {
    await manager.api().requestSignUp({ body: { email: `${name}@example.org`, name, note: 'For my\nthesis' } })
  }
  await expect.poll(async () => (await berth(['admin', 'signup', 'ls'])).out).toMatch(/noor@[^]*jonas@|jonas@[^]*noor@/)
  expect((await berth(['admin', 'signup', 'ls'])).out).toContain('For my thesis')
  const accepted = await berth(['admin', 'signup', 'accept', 'Noor@example.org', '--policy', 'default'])
  expect(accepted.out).toMatch(/^http.*\/#\/reset-password\?token=/)
  const declined = await berth(['admin', 'signup', 'decline', 'jonas@example.org', '--reason', 'No room'])
  expect(declined).toMatchObject({ code: 0 })
  expect(declined.err).toContain('was not told')
  expect(await berth(['admin', 'signup', 'decline', 'jonas@example.org'])).toMatchObject({ code: 4 })

  await manager.addUser('ada@example.org')
  const link = await berth(['admin', 'account-link', 'ADA@example.org'])
  expect(link.out).toMatch(/^http.*\/#\/reset-password\?token=/)
  expect(await berth(['admin', 'account-link', 'nobody@example.org'])).toMatchObject({ code: 4 })
})

test('a sign-in with a second factor fails with exit code 3 without a code and succeeds with a valid one', async () => {
  expect((await login(`${ADMIN.password}\n`)).code).toBe(0)
  const enrolment = json(await berth(['totp', 'enrol', '--password-stdin', '--json'], ADMIN.password))
  const totp = new TOTP({ secret: Secret.fromBase32(String(enrolment.secret)) })
  const confirmed = json(await berth(['totp', 'confirm', totp.generate(), '--json']))
  const codes = confirmed.codes as string[]
  expect(codes).toHaveLength(10)
  expect((await berth(['totp', 'status'])).out).toContain('10 recovery codes')

  const without = await login(`${ADMIN.password}\n`)
  expect(without.code).toBe(3)
  expect(without.err).toContain('totp_required')
  expect((await login(`${ADMIN.password}\n`, '--totp', '123456')).code).toBe(3)
  expect((await login(ADMIN.password, '--totp', String(codes[0]))).code).toBe(0)
  expect((await login(`${ADMIN.password}\n${String(codes[1])}\n`, '--totp-stdin')).code).toBe(0)
  expect((await berth(['whoami'])).out).toContain(ADMIN.email)
  const off = await berth(['totp', 'disable', '--password-stdin'], `${ADMIN.password}\n${String(codes[2])}`)
  expect(off.code).toBe(0)
  expect((await login(`${ADMIN.password}\n`)).code).toBe(0)
})

test('a required new password is read from standard input; users and keypairs get notes, policies and keys', async () => {
  expect((await login(`${ADMIN.password}\n`)).code).toBe(0)
  expect((await berth(['admin', 'policy', 'create', 'course'])).code).toBe(0)
  const create = ['admin', 'user', 'create', 'due@example.org', '--password-stdin', '--require-password-change']
  const made = await berth([...create, '--policy', 'course', '--description', 'Course 7', '--json'], 'Given-one-1')
  expect(json(made)).toMatchObject({ mustChangePassword: true, resourcePolicy: 'course', description: 'Course 7' })

  const secret = 'kq3Vx0Zr8yT1mB5cW9xLhA2nE7uGdF4s_-aBcDeF'
  const waiting = await berth([
    'admin',
    'keypair',
    'create',
    'due@example.org',
    '--policy',
    'course',
    '--name',
    'CI',
    '--json',
  ])
  expect(json(waiting)).toMatchObject({ name: 'CI', waits: true, active: false, resourcePolicy: 'course' })
  expect(waiting.out).not.toContain('secretKey')
  const keypair = ['keypair', 'create', '--policy', 'course', '--json']
  const chosen = await berth([...keypair, '--access-key', 'AKIA2345ABCDEFGHIJKL', '--secret-stdin'], secret)
  expect(json(chosen)).toMatchObject({ accessKey: 'AKIA2345ABCDEFGHIJKL', resourcePolicy: 'course' })
  expect((await berth([...keypair, '--access-key', 'AKIA2345ABCDEFGHIJKM'])).err).toContain('--secret-stdin')

  const signIn = ['login', '--endpoint', manager.url, '--email', 'due@example.org', '--password-stdin']
  const refused = await berth(signIn, 'Given-one-1')
  expect(refused.err).toContain('password_change_required')
  expect((await berth([...signIn, '--new-password-stdin'], 'Given-one-1\nChosen-one-2\n')).code).toBe(0)
  expect((await berth(['whoami'])).out).toContain('due@example.org')
  expect((await berth(['messages', '--clear'])).out).toContain('for you. It opens nothing until you accept it')
  expect((await berth(['messages', '--account'])).out).toContain('for you. It opens nothing until you accept it')
  const { accessKey } = json(waiting) as { accessKey: string }
  expect(json(await berth(['keypair', 'accept', accessKey, '--json']))).toMatchObject({ accessKey, active: true })
  expect((await berth(['keypair', 'ls'])).out).toContain(ADMIN.email)
})

test('an access token is made once, used by BERTH_TOKEN within its scopes, and ended', async () => {
  expect((await login(`${ADMIN.password}\n`)).code).toBe(0)
  const create = ['token', 'create', 'nightly', '--scope', 'read', 'launch', '--sessions', '3', '--lifetime', '2h']
  const { out } = await berth(create)
  const token = out.trim()
  expect(token).toMatch(/^berth_[\w-]{43}$/)
  expect((await berth(['token', 'ls'])).out).toMatch(/nightly +read launch +0 of 3 +2 h/)
  const asProgram = (args: readonly string[], endpoint = manager.url) =>
    cli.run(args, '', { BERTH_TOKEN: token, BERTH_ENDPOINT: endpoint, BERTH_CONFIG_DIR: '/nonexistent' })
  expect(await asProgram(['whoami'])).toMatchObject({ code: 0 })
  expect(await asProgram(['token', 'ls'])).toMatchObject({
    code: 3,
    err: expect.stringContaining('No access token') as string,
  })
  expect(await asProgram(['folder', 'create', 'x'])).toMatchObject({
    code: 3,
    err: expect.stringContaining('files') as string,
  })
  const plain = await asProgram(['whoami'], 'http://berth.example.org')
  expect(plain).toMatchObject({ code: 2, err: expect.stringContaining('unencrypted') as string })
  const [made] = JSON.parse((await berth(['token', 'ls', '--json'])).out) as { id: string }[]
  expect(await berth(['token', 'rm', String(made?.id)])).toMatchObject({ code: 0 })
  expect(await asProgram(['whoami'])).toMatchObject({ code: 3 })
})
