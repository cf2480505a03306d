import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCli, type Cli } from '../../fixtures/cli.ts'
import { startTestManager } from '../../fixtures/manager.ts'
import { startWebhookReceiver, verifyEvent, type WebhookReceiver } from '../../fixtures/webhook-receiver.ts'

const stack = new AsyncDisposableStack()
let cli: Cli
let receiver: WebhookReceiver
beforeAll(async () => {
  const manager = stack.use(await startTestManager())
  receiver = stack.use(await startWebhookReceiver())
  cli = stack.use(await createCli())
  await cli.signIn(manager.url)
})
afterAll(() => stack.disposeAsync())
const webhook = (...args: string[]) => cli.run(['admin', 'webhook', ...args])

test('a webhook is added, tested, changed, looked up by its name, and deleted', async () => {
  const refused = await webhook('create', 'ci', '--url', receiver.url)
  expect(refused.code).not.toBe(0)
  expect(refused.err).toContain('berth admin settings set webhookHttp=true')
  await cli.run(['admin', 'settings', 'set', 'webhookHttp=true', 'webhookHosts=localhost'])

  const made = await cli.run(['admin', 'webhook', 'create', 'ci', '--url-stdin', '--json'], `${receiver.url}\n`)
  expect(made.err).not.toMatch(/whsec_/)
  const { id, secret } = JSON.parse(made.out) as { id: string; secret: string }
  expect((await webhook('test', 'ci')).out).toContain('delivered')
  expect(receiver.events[0] && verifyEvent(secret, receiver.events[0])).toMatchObject({ type: 'webhook.test' })

  receiver.behave(response => response.writeHead(500).end('broken'))
  expect(await webhook('test', 'CI')).toMatchObject({ code: 1, out: expect.stringContaining('status') as string })
  const log = JSON.parse((await webhook('log', 'ci', '--json')).out) as { answer: string }[]
  expect(log.map(({ answer }) => answer)).toEqual(['broken', 'thanks'])

  expect((await webhook('secret', 'ci')).out.trim()).toMatch(/^whsec_/)
  const changed = await webhook(
    'update',
    'ci',
    '--name',
    'chat',
    '--form',
    'text',
    '--event',
    'host.lost',
    '--no-active',
  )
  expect(changed.out).toMatch(/chat\s.*off \(person\)/)
  expect((await webhook('ls', '--json')).out).not.toMatch(/whsec_|\/hook/)
  expect((await webhook('rm', 'nothing')).err).toContain('There is no webhook "nothing".')
  expect((await webhook('update', 'chat', '--event', 'nonsense')).code).not.toBe(0)
  expect(await webhook('rm', id)).toMatchObject({ code: 0 })
  expect(JSON.parse((await webhook('ls', '--json')).out)).toEqual([])
})
