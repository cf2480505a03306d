import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { button } from '../e2e/console-steps.ts'
import { browseProvider } from '../fixtures/oidc-provider.ts'
import { type SsoWorld, startSsoWorld } from '../integration/users/sso-steps.ts'
import { openApp, openDesktop, startPlainApp, type Desktop, type RunningApp } from './open-app.ts'
import { keepOpenedLinks, type OpenedLinks } from './opened-links.ts'

/**
 * The sign-in at a provider from the desktop app, in a real Electron, with a real manager and provider, and the system's handling of links.
 */
const stack = new AsyncDisposableStack()
let desktop: Desktop
let world: SsoWorld
let app: RunningApp
let links: OpenedLinks

beforeAll(async () => {
  desktop = stack.use(await openDesktop())
  world = stack.use(await startSsoWorld())
  await world.configure()
  // The test acts as the browser.
  links = stack.use(await keepOpenedLinks())
  app = stack.use(await openApp(desktop, { env: { BERTH_ENDPOINT: world.manager.url, PATH: links.PATH } }))
})
afterAll(() => stack.disposeAsync())

/** Begins a sign-in by a click, and completes it like the browser of the system. @returns the code that the browser shows at the end */
async function codeOfBrowser(): Promise<string> {
  await links.forget()
  await button(app.page, 'Sign in with The lab').click()
  const address = async () => (await links.all()).at(-1) ?? ''
  await expect.poll(address).toContain(world.provider.issuer)
  const location = await world.comeBack(await browseProvider(await address(), world.provider.issuer))
  return new URLSearchParams(location.split('?')[1]).get('code') ?? ''
}

async function openLink(code: string): Promise<void> {
  const second = startPlainApp(desktop, app.configDir, [`berth://sign-in/${code}`])
  if (second.exitCode === null) await once(second, 'exit')
}

test('the browser of the system comes back by a link; a code of somebody else signs nobody in', async () => {
  const { page } = app
  world.provider.person = { sub: 'ada', email: 'ada@example.org', email_verified: true, name: 'Ada Lovelace' }
  const code = await codeOfBrowser()
  await openLink(`berth_${'a'.repeat(43)}`)
  await page.getByRole('alert').first().waitFor()
  expect(page.url()).not.toContain('berth_')
  await openLink(code)
  await page.getByRole('button', { name: /Ada/ }).waitFor()
  const stored = await page.evaluate(() =>
    JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)]),
  )
  expect([stored, page.url()].join()).not.toContain(code)
})

test('the code that the browser shows can be typed instead', async () => {
  const { page } = app
  world.provider.person = { sub: 'mira', email: 'mira@example.org', email_verified: true, name: 'Mira' }
  await page.evaluate(() => fetch('/api/v1/auth/logout', { method: 'POST' }))
  await page.reload()
  const code = await codeOfBrowser()
  await page.getByLabel('Code from the browser').fill(code)
  await button(page, 'Sign in').last().click()
  await page.getByRole('button', { name: /Mira/ }).waitFor()
})
