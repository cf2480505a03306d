import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiClient, NO_ANNOUNCEMENT, type SystemSettingsChange } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { createMailer } from '../../../manager/mail/mailer.ts'
import { addMasterKey, masterKeyPath } from '../../../manager/secrets/master-key-file.ts'
import { ADMIN, startTestManager, temporaryDirectory, type TestManager } from '../../fixtures/manager.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { makeCertificate, startSmtpServer } from '../../fixtures/smtp-server.ts'

let manager: TestManager
let admin: ApiClient
beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
})
afterAll(() => manager[Symbol.asyncDispose]())

const NOTHING_SET = {
  smtpHost: null,
  smtpPort: 587,
  smtpSecurity: 'starttls',
  smtpUser: null,
  smtpFrom: null,
  smtpPassword: null,
  publicUrl: null,
} as const

describe('system settings', () => {
  test('a new installation has neither sign-up nor mail, and its public settings say so', async () => {
    expect(await admin.getSettings()).toMatchObject({
      allowSignUp: 'off',
      signUpDomain: 'default',
      requireEmailVerification: true,
      smtpPasswordSet: false,
      mailReady: false,
    })
    expect(await manager.api().authOptions()).toEqual({
      signUp: 'off',
      signUpEmailDomains: null,
      signUpNote: null,
      idleSignOutMinutes: null,
      verification: 'admin',
      passwordReset: 'admin',
      passwordSignIn: 'everyone',
      providers: [],
      termsUrl: null,
      privacyUrl: null,
      firstStart: false,
      signInsEnded: false,
    })
  })

  test('an announcement reaches every signed-in person, and open pages by a hint', async () => {
    expect(await admin.getAnnouncement()).toEqual(NO_ANNOUNCEMENT)
    const { token } = await manager.signIn()
    using stream = await openEventStream(manager.url, { token })
    await admin.updateSettings({
      body: { announcement: 'Down on Saturday,\n08:00 to 12:00', announcementLevel: 'warning' },
    })
    await expect.poll(() => stream.of('hint').map(({ data }) => data)).toMatchObject([{ topic: 'announcement' }])
    const text = 'Down on Saturday,\n08:00 to 12:00'
    expect(await admin.getAnnouncement()).toMatchObject({ text, level: 'warning', dismissed: false, changesAt: null })
    await expect(manager.api().getAnnouncement()).rejects.toMatchObject({ code: 'not_signed_in' })
    await admin.updateSettings({ body: { allowSignUp: 'off' } })
    await admin.updateSettings({ body: { announcement: null } })
    expect((await admin.getAnnouncement()).text).toBeNull()
    await expect.poll(() => stream.of('hint')).toHaveLength(2)
    await expect(admin.updateSettings({ body: { announcement: 'a\u001b[31mred' } })).rejects.toMatchObject({
      code: 'bad_request',
    })
  })

  test('an announcement has a period, and each person dismisses it for themselves', async () => {
    const other = await manager.addUser('reader@example.org')
    const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    const announce = (body: SystemSettingsChange) => admin.updateSettings({ body })
    await announce({ announcement: 'Soon', announcementFrom: hour(1), announcementUntil: hour(2) })
    expect(await other.api.getAnnouncement()).toMatchObject({ text: null, id: null })
    await expect(announce({ announcementUntil: hour(0.5) })).rejects.toMatchObject({
      code: 'bad_request',
      detail: { cause: 'announcement_ends_first' },
    })
    await announce({ announcementFrom: null })
    const { id, text } = await other.api.getAnnouncement()
    expect([text, typeof id]).toEqual(['Soon', 'string'])
    await other.api.dismissAnnouncement({ body: { id: id ?? '' } })
    expect((await other.api.getAnnouncement()).dismissed).toBe(true)
    expect((await admin.getAnnouncement()).dismissed).toBe(false)
    await announce({ announcement: 'Now' })
    expect(await other.api.getAnnouncement()).toMatchObject({ text: 'Now', dismissed: false })
    await announce({ announcement: null, announcementUntil: null })
  })

  test('settings that a change leaves out stay, null clears one, and a change takes effect at once', async () => {
    await admin.updateSettings({ body: { allowSignUp: 'invitation', publicUrl: 'https://berth.example.org/' } })
    const changed = await admin.updateSettings({ body: { smtpHost: 'mail.example.org', smtpFrom: 'b@example.org' } })
    expect(changed).toMatchObject({
      allowSignUp: 'invitation',
      publicUrl: 'https://berth.example.org',
      mailReady: true,
    })
    // The author of a change is stored with the setting; a setting sent with the same value has not changed.
    const again = await admin.updateSettings({ body: { smtpHost: 'mail.example.org', smtpPort: 2525 } })
    expect(again.changes).toMatchObject({ smtpHost: changed.changes.smtpHost, smtpPort: { by: 'admin@localhost' } })
    expect(Date.now() - Date.parse(again.changes.smtpPort?.at ?? '')).toBeLessThan(60_000)
    expect(again.changes).not.toHaveProperty('tokenDays')
    expect(await manager.api().authOptions()).toMatchObject({ signUp: 'invitation', passwordReset: 'mail' })
    expect((await admin.updateSettings({ body: { ...NOTHING_SET, allowSignUp: 'off' } })).mailReady).toBe(false)
  })

  test('the password of the mail server is sealed, never returned, and required if there is a user name', async () => {
    const body = {
      ...NOTHING_SET,
      smtpHost: 'localhost',
      smtpFrom: 'b@example.org',
      publicUrl: 'http://localhost:8400',
    }
    expect((await admin.updateSettings({ body: { ...body, smtpUser: 'berth' } })).mailReady).toBe(false)
    await admin.updateSettings({ body: { smtpPassword: 'Very-secret-words-1' } })
    const { token } = await manager.signIn()
    const headers = { authorization: `Bearer ${token}` }
    const reply = await rawRequest(`${manager.url}/api/v1/settings`, { headers })
    expect(reply.json).toMatchObject({ smtpPasswordSet: true, mailReady: true })
    expect(reply.text).not.toContain('Very-secret')
    expect((await admin.updateSettings({ body: { smtpPassword: null } })).smtpPasswordSet).toBe(false)
  })

  test('the password of one mail server is never sent to another', async () => {
    const body = { ...NOTHING_SET, smtpHost: 'localhost', smtpUser: 'berth', smtpPassword: 'Very-secret-words-1' }
    const isSet = async (change: SystemSettingsChange) => (await admin.updateSettings({ body: change })).smtpPasswordSet
    expect(await isSet(body)).toBe(true)
    expect(await isSet({ smtpPort: 2525, smtpHost: 'localhost' })).toBe(true)
    expect(await isSet({ smtpHost: 'mail.example.org' })).toBe(false)
    expect(await isSet(body)).toBe(true)
    expect(await isSet({ smtpHost: null })).toBe(false)
    expect(await isSet({ smtpPassword: 'Very-secret-words-1' })).toBe(true)
    expect(await isSet({ smtpHost: 'localhost' })).toBe(true)
    expect(await isSet({ smtpHost: 'mail.example.org', smtpPassword: 'Other-secret-words-1' })).toBe(true)
    await admin.updateSettings({ body: NOTHING_SET })
  })

  test.each([
    [{ smtpHost: 'http://mail.example.org' }, 'smtpHost'],
    [{ smtpHost: 'mail.example.org\r\nRCPT' }, 'smtpHost'],
    [{ publicUrl: 'javascript:alert(1)' }, 'publicUrl'],
    [{ publicUrl: 'https://user:word@berth.example.org' }, 'publicUrl'],
    [{ smtpPort: 0 }, 'smtpPort'],
    [{ allowSignUp: 'everybody' }, 'allowSignUp'],
    [{ verifyCertificates: false }, 'verifyCertificates'],
    [{ smtpHost: 'mail.example.org', smtpUser: 'berth', smtpSecurity: 'none' }, 'sent unencrypted'],
  ])('%j is refused, and the reply names it', async (body, words) => {
    const { token } = await manager.signIn()
    const headers = { authorization: `Bearer ${token}` }
    const reply = await rawRequest(`${manager.url}/api/v1/settings`, { method: 'PATCH', headers, body })
    expect(reply.json).toMatchObject({ code: 'bad_request' })
    expect(reply.text).toContain(words)
  })

  test('a changed duration of sign-ins applies to sign-ins from then on', async () => {
    const hoursLeft = async (kind: 'browser' | 'token') => {
      const { expiresAt } = await manager.api().login({ body: { ...ADMIN, kind } })
      return Math.round((new Date(expiresAt).getTime() - Date.now()) / 3_600_000)
    }
    expect([await hoursLeft('browser'), await hoursLeft('token')]).toEqual([12, 30 * 24])
    await admin.updateSettings({ body: { browserIdleHours: 48, browserMaxDays: 1, tokenDays: 2 } })
    expect([await hoursLeft('browser'), await hoursLeft('token')]).toEqual([24, 48])
    expect((await admin.me()).user.email).toBe(ADMIN.email)
    await admin.updateSettings({ body: { browserIdleHours: 12, browserMaxDays: 7, tokenDays: 30 } })
  })

  test('the domain for sign-ups has to exist', async () => {
    const change = admin.updateSettings({ body: { signUpDomain: 'nowhere' } })
    await expect(change).rejects.toMatchObject({ code: 'domain_not_found' })
  })

  test('concurrent changes are all kept', async () => {
    await Promise.all([
      admin.updateSettings({ body: { smtpPort: 2525 } }),
      admin.updateSettings({ body: { smtpHost: 'one.example.org' } }),
      admin.updateSettings({ body: { smtpFrom: 'one@example.org' } }),
      admin.updateSettings({ body: { termsUrl: 'https://example.org/terms' } }),
    ])
    expect(await admin.getSettings()).toMatchObject({
      smtpPort: 2525,
      smtpHost: 'one.example.org',
      smtpFrom: 'one@example.org',
      termsUrl: 'https://example.org/terms',
    })
    await admin.updateSettings({ body: { ...NOTHING_SET, termsUrl: null } })
  })
})

describe('mail', () => {
  const testMail = () => admin.sendTestMail({ body: { to: 'ada@example.org' } })
  const use = (server: { port: number }, more: object = {}) =>
    admin.updateSettings({
      body: {
        ...NOTHING_SET,
        smtpHost: 'localhost',
        smtpPort: server.port,
        smtpSecurity: 'none',
        smtpFrom: 'berth@example.org',
        ...more,
      },
    })

  test('without a mail server, sending a test mail reports what is missing', async () => {
    await admin.updateSettings({ body: NOTHING_SET })
    await expect(testMail()).rejects.toMatchObject({ code: 'mail_not_configured' })
  })

  test('mail arrives, with user and password, over TLS: by STARTTLS or from the first byte', async () => {
    const certificate = await makeCertificate()
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, certificate.cert])
    try {
      for (const security of ['starttls', 'tls'] as const) {
        const login = { user: 'berth', password: 'Very-secret-words-1' }
        await using server = await startSmtpServer({ login, certificate, security })
        await use(server, { smtpSecurity: security, smtpUser: 'berth', smtpPassword: login.password })
        await testMail()
        expect(server.mails).toHaveLength(1)
        expect(server.mails[0]).toMatchObject({
          from: 'berth@example.org',
          to: 'ada@example.org',
          encrypted: true,
          user: 'berth',
        })
        expect(server.mails[0]?.text).toMatch(/^From: Berth <berth@example.org>$/m)
        await use(server, { smtpSecurity: security, smtpUser: 'berth', smtpPassword: 'wrong' })
        await expect(testMail()).rejects.toMatchObject({ code: 'mail_failed' })
        await expect(testMail()).rejects.toThrow(/535|wrong user/)
      }
    } finally {
      setDefaultCACertificates(before)
    }
  })

  test('a mail server with an untrusted certificate is refused, and nothing is sent', async () => {
    const certificate = await makeCertificate()
    for (const security of ['starttls', 'tls'] as const) {
      await using server = await startSmtpServer({ certificate, security })
      await use(server, { smtpSecurity: security })
      await expect(testMail()).rejects.toThrow(/self-signed certificate/)
      expect(server.commands.filter(command => /^(MAIL|AUTH)/.test(command))).toEqual([])
    }
  })

  test('a server without STARTTLS gets nothing if TLS is required', async () => {
    await using server = await startSmtpServer()
    await use(server, { smtpSecurity: 'starttls' })
    await expect(testMail()).rejects.toMatchObject({
      code: 'mail_failed',
      detail: {
        cause: 'mail_server_without_starttls',
        why: expect.stringContaining('set smtpSecurity to tls (mostly port 465) or none') as string,
      },
    })
    expect(server.mails).toHaveLength(0)
  })

  test("a refused address and an unreachable server are reported with the server's message", async () => {
    let port: number
    {
      await using server = await startSmtpServer()
      port = server.port
      await use(server)
      await expect(admin.sendTestMail({ body: { to: 'unknown@example.org' } })).rejects.toThrow(/550|no such mailbox/)
    }
    await use({ port })
    await expect(testMail()).rejects.toThrow(/ECONNREFUSED/)
  })

  test('a queued mail is sent again after a temporary failure, and dropped after a permanent one', async () => {
    await using server = await startSmtpServer({ later: 2 })
    const to = { host: '127.0.0.1', port: server.port, security: 'none', from: 'b@example.org', login: null } as const
    await using mailer = createMailer({ server: () => Promise.resolve(to), log: silentLog, tryAgainMs: [5, 5, 5] })
    mailer.post({ to: 'ada@example.org', subject: 'later', text: 'x' })
    await expect.poll(() => server.mailTo('ada@example.org')?.text).toContain('Subject: later')
    const tries = (name: string) => server.commands.filter(command => command.startsWith(`RCPT TO:<${name}`)).length
    expect(tries('ada')).toBe(3)
    mailer.post({ to: 'unknown@example.org', subject: 'never', text: 'x' })
    await expect.poll(() => tries('unknown')).toBe(1)
    mailer.post({ to: 'bob@example.org', subject: 'after', text: 'x' })
    await expect.poll(() => tries('bob')).toBe(1)
    expect(tries('unknown')).toBe(1)
    expect(server.mailTo('unknown@example.org')).toBeUndefined()
  })

  test('a silent mail server does not keep the manager from stopping', async () => {
    await using server = await startSmtpServer({ silent: true })
    const to = { host: '127.0.0.1', port: server.port, security: 'none', from: 'b@example.org', login: null } as const
    const mailer = createMailer({ server: () => Promise.resolve(to), log: silentLog })
    mailer.post({ to: 'ada@example.org', subject: 'x', text: 'x' })
    const startedAt = performance.now()
    await mailer[Symbol.asyncDispose]()
    expect(performance.now() - startedAt).toBeLessThan(30_000)
  })
})

test('a rotation of the master key covers the password of the mail server and the secrets of authenticator apps', async () => {
  await using data = await temporaryDirectory()
  await using server = await startSmtpServer({ login: { user: 'berth', password: 'Very-secret-words-1' } })
  const smtp = { smtpHost: 'localhost', smtpPort: server.port, smtpSecurity: 'none', smtpUser: 'berth' } as const
  let secret: string
  {
    await using first = await startTestManager({ dataDir: data.path })
    const { api } = await first.signIn()
    const body = { ...smtp, smtpPassword: 'Very-secret-words-1', smtpFrom: 'berth@example.org' }
    await api.updateSettings({ body })
    ;({ secret } = await api.enrolTotp({ body: { password: ADMIN.password } }))
  }
  const { keyId } = await addMasterKey(masterKeyPath(data.path))
  {
    await using rotated = await startTestManager({ dataDir: data.path })
    expect((await rotated.signIn()).token).toBeTruthy()
  }
  // The new key alone is enough from now on.
  const file = join(data.path, 'master.key')
  const [added = ''] = (await readFile(file, 'utf8')).split('\n')
  await writeFile(file, added)
  expect(keyId).toMatch(/^[0-9a-f]{16}$/)
  await using last = await startTestManager({ dataDir: data.path })
  const { api } = await last.signIn()
  await api.sendTestMail({ body: { to: 'ada@example.org' } })
  expect(server.mailTo('ada@example.org')?.user).toBe('berth')
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  expect((await api.confirmTotp({ body: { code } })).codes).toHaveLength(10)
})
