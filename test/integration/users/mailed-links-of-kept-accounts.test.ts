import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { type SmtpServer, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { codeOf, CONSOLE, tokenOf } from './account-steps.ts'

/**
 * A mailed link is the one way of a person into an account in which somebody else is: it ends the doubt about the password (ADR 59, 67).
 * So whoever is inside must not be able to end it.
 */

let manager: TestManager
let smtp: SmtpServer
let world: AsyncDisposableStack
beforeAll(async () => {
  await using opening = new AsyncDisposableStack()
  manager = opening.use(await startTestManager())
  smtp = opening.use(await startSmtpServer())
  const { api } = await manager.signIn()
  const mail = { smtpHost: 'localhost', smtpPort: smtp.port, smtpSecurity: 'none', smtpFrom: 'b@example.org' } as const
  await api.updateSettings({ body: { publicUrl: CONSOLE, ...mail } })
  world = opening.move()
})
afterAll(() => world.disposeAsync())

const KNOWN = ['Known-to-the-lead-1', 'Known-to-the-lead-2', 'Known-to-the-lead-3'] as const

test.each([
  ['does nothing', 0],
  ['chooses one password after the other', 1],
])('the person gets in with "Forgot password?" while somebody who is inside %s', async (_what, isBusy) => {
  const { api: lead } = await manager.addUser(`lead-${isBusy}@example.org`, 'domain_admin')
  const email = `ann-${isBusy}@example.org`
  await lead.createUser({ body: { email, name: 'Ann', password: KNOWN[0] } })
  const first = { email, password: KNOWN[0], newPassword: KNOWN[1], kind: 'token' } as const
  const { token } = await manager.api().login({ body: first })
  const inside = manager.api(token ?? '')
  let isOver = isBusy === 0
  const keeping = (async () => {
    for (let at = 1; !isOver; at = 3 - at) {
      const body = { oldPassword: KNOWN[at as 1 | 2], newPassword: KNOWN[(3 - at) as 1 | 2] }
      if ((await codeOf(inside.changePassword({ body }))) !== 'ok') return
      await delay(300)
    }
  })()
  try {
    const codes: unknown[] = []
    for (let tries = 0; tries < 3; tries++) {
      const before = smtp.mails.length
      await manager.api().requestPasswordReset({ body: { email } })
      await expect
        .poll(() => smtp.mails.slice(before).find(({ text }) => text.includes('reset-password')))
        .toBeDefined()
      const mail = smtp.mails.slice(before).find(({ text }) => text.includes('reset-password'))
      // Quicker than any person opens a mail and types a password.
      await delay(2_000)
      const code = await codeOf(
        manager.api().resetPassword({ body: { token: tokenOf(mail?.text ?? ''), password: 'Chosen-by-Ann-4' } }),
      )
      codes.push(code)
      if (code === 'ok') break
    }
    expect(codes).toEqual(['ok'])
  } finally {
    isOver = true
    await keeping
  }
})
