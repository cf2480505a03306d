import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type Browser, type BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBrowser } from './console-open.ts'
import { button, signIn } from './console-steps.ts'
import { silentLog } from '../../manager/log.ts'
import { startWeb } from '../../proxy/web/server.ts'
import { audit } from '../fixtures/browser.ts'
import { createCli } from '../fixtures/cli.ts'
import { BROWSER_HERE, startVisit } from '../fixtures/cli-visit.ts'
import { ADMIN, CONSOLE_SECRET, startTestManager, temporaryDirectory, type TestManager } from '../fixtures/manager.ts'
import { startTestProvider, type TestProvider } from '../fixtures/oidc-provider.ts'
import { BASE, startSlapd } from '../fixtures/slapd.ts'

/** The sign-in at a provider in the page, with real manager, console, provider and command line. */
const stack = new AsyncDisposableStack()
let browser: Browser
let manager: TestManager
let provider: TestProvider
/** Address of the console. */
let address: string

beforeAll(async () => {
  browser = await startBrowser()
  stack.defer(() => browser.close())
  manager = stack.use(await startTestManager())
  const { path: dataDir } = stack.use(await temporaryDirectory())
  const consoleDir = new URL('../../dist/renderer/', import.meta.url).pathname
  const config = { dataDir, port: 0, managerUrl: manager.url, allowedHosts: [], consoleDir, version: '1.2.3' }
  const web = stack.use(await startWeb({ ...config, consoleSecret: CONSOLE_SECRET, localProof: 'off' }, silentLog))
  address = web.url
  provider = stack.use(await startTestProvider(() => `${address}/api/v1/auth/sso/callback`))
  const { issuer, clientId, clientSecret } = provider
  const body = { id: 'lab', name: 'Example Lab', issuer, clientId, clientSecret, createAccounts: true }
  const { api } = await manager.signIn()
  await api.createSignInProvider({ body })
  // The page, the callback and the command line are at one address.
  await api.updateSettings({ body: { publicUrl: address } })
})
afterAll(() => stack.disposeAsync())

/** Another person's browser. */
async function openBrowser(): Promise<AsyncDisposable & { context: BrowserContext }> {
  const context = await browser.newContext({ locale: 'en-GB' })
  context.setDefaultTimeout(120_000)
  return { context, [Symbol.asyncDispose]: () => context.close() }
}

test('a person signs in at a real provider and comes back to the page that asked; a code of somebody else is of no use', async () => {
  provider.person = { sub: 'ada', email: 'ada@example.org', email_verified: true, name: 'Ada Lovelace' }
  await using one = await openBrowser()
  const page = await one.context.newPage()
  await page.goto(`${address}/#/sign-in?sso=berth_${'a'.repeat(43)}`)
  await page.getByText('began elsewhere').waitFor()
  expect(page.url()).not.toContain('berth_')
  await button(page, 'Back to sign-in').click()
  await page.goto(`${address}/#/preferences`)
  await button(page, 'Sign in with Example Lab').click()
  await page.waitForURL(`${address}/#/preferences`)
  await page.getByText('Start-up script').first().waitFor()
  await page.goto(`${address}/#/account`)
  await page.getByText('ada@example.org').first().waitFor()
  expect(await page.evaluate(() => sessionStorage.getItem('berth.sso'))).toBeNull()

  // Somebody with a password links an account there, and then signs in with it.
  await using other = await openBrowser()
  const tab = await other.context.newPage()
  provider.person = { sub: 'boss', email: 'boss@example.org', email_verified: true, name: 'The Boss' }
  await tab.goto(`${address}/#/account`)
  await signIn(tab, ADMIN.email, ADMIN.password)
  await button(tab, 'Link Example Lab').click()
  await tab.getByLabel('Current password').fill(ADMIN.password)
  await button(tab, 'Continue at Example Lab').click()
  await tab.getByText('Linked: boss@example.org').waitFor()
  expect(tab.url()).toBe(`${address}/#/account`)
  await tab.reload()
  await button(tab, 'Unlink boss@example.org').click()
  await tab.getByLabel('Current password').fill('not the password')
  await tab.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
  await tab.getByText('not your current password').waitFor()
  await tab.getByLabel('Current password').fill(ADMIN.password)
  await tab.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
  await tab.getByText('The account is unlinked.').waitFor()
  await button(tab, 'Link Example Lab').waitFor()
})

test('another user of the computer who sends the address of their own sign-in gets nothing before a click on the page that names it', async () => {
  provider.person = { sub: 'mira', email: 'mira@example.org', email_verified: true, name: 'Mira Holm' }
  const heard: string[] = []
  const attacker = createServer((request, response) => {
    heard.push(request.url ?? '')
    response.end('of the attacker')
  })
  attacker.listen(0, '127.0.0.1')
  await once(attacker, 'listening')
  const { port } = attacker.address() as AddressInfo
  try {
    const anybody = manager.api()
    const started = await anybody.startSso({ body: { provider: 'lab', return: { to: 'loopback', port } } })
    await using victim = await openBrowser()
    const page = await victim.context.newPage()
    await page.goto(started.url)
    await page.getByText('wants to sign in as mira@example.org').waitFor()
    await page.getByText(started.word).waitFor()
    expect(page.url()).toBe(`${address}/#/sign-in-code`)
    expect(await audit(page)).toEqual([])
    await page.keyboard.press('Enter')
    await button(page, 'Cancel').click()
    await page.getByText('The program got nothing').waitFor()
    await page.reload()
    await page.getByText('This link is not complete').waitFor()
    expect(heard).toEqual([])
  } finally {
    attacker.closeAllConnections()
    attacker.close()
  }
})

test('the command line and the page show one word, and Continue signs in', async () => {
  provider.person = { sub: 'lin', email: 'lin@example.org', email_verified: true, name: 'Lin' }
  await using cli = await createCli()
  const visit = await startVisit(cli, ['login', '--endpoint', address, '--sso'], BROWSER_HERE)
  await using own = await openBrowser()
  const page = await own.context.newPage()
  await page.goto(visit.address)
  await page.getByText(visit.word ?? 'no word').waitFor()
  await button(page, 'Continue').click()
  await page.getByText('you can close this window').waitFor()
  expect(await visit.outcome).toMatchObject({ code: 0, out: expect.stringContaining('as lin@example.org') as string })
})

test('a person signs in by the form of a real directory, and a wrong password is said there', async () => {
  const slapd = stack.use(await startSlapd())
  const person = { uid: 'grace', password: 'Secret-of-grace', mail: 'grace@example.org', name: 'Grace Hopper' }
  await slapd.addPerson(person)
  const { api } = await manager.signIn()
  const { ldaps, ca, bindDn, bindPassword } = slapd
  const directory = { urls: [ldaps], base: BASE, bindDn, caCertificates: ca, idAttribute: 'entryUUID' }
  const settings = { directory, clientSecret: bindPassword, createAccounts: true, trustEmail: true }
  await api.createSignInProvider({ body: { id: 'people', kind: 'ldap', name: 'The people', ...settings } })
  await using one = await openBrowser()
  const page = await one.context.newPage()
  await page.goto(`${address}/#/preferences`)
  await button(page, 'Sign in with The people').click()
  const form = page.getByRole('form', { name: 'Sign in with The people' })
  await form.getByLabel('Name').fill(person.uid)
  await form.getByLabel('Password', { exact: true }).fill('not her password')
  await button(form, 'Sign in').click()
  await form.getByRole('alert').waitFor()
  expect(await form.getByLabel('Password', { exact: true }).inputValue()).toBe('')
  expect(await audit(page)).toEqual([])
  await form.getByLabel('Password', { exact: true }).fill(person.password)
  await button(form, 'Sign in').click()
  await page.getByText('Start-up script').first().waitFor()
  expect(page.url()).toBe(`${address}/#/preferences`)
  await page.goto(`${address}/#/account`)
  await page.getByText(person.mail).first().waitFor()
})
