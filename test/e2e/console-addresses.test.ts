import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openConsole, startBrowser } from './console-open.ts'
import { aSession } from './console-world.ts'

/** Dialogs are part of the URL: Back closes them, and a copied URL opens them. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const urlOf = (page: Page) => page.url().replace(/^.*#/, '')

test('Back closes the dialog of a session and stays on the page, Forward opens it again, and its URL opens it elsewhere', async () => {
  const session = aSession(1, { name: 'long-training', status: 'RUNNING' })
  await using it = await openConsole(browser, '/sessions?q=long', { sessions: [session] })
  const { page } = it
  const dialog = (of: Page) => of.getByRole('dialog')
  await button(page, 'Apps of long-training').click()
  await dialog(page).waitFor()
  const address = `/sessions?q=long&dialog=apps&of=${session.id}`
  expect(urlOf(page)).toBe(address)
  await page.goBack()
  await dialog(page).waitFor({ state: 'hidden' })
  expect(urlOf(page)).toBe('/sessions?q=long')
  await page.goForward()
  await dialog(page).waitFor()
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(page)).toBe('/sessions?q=long')
  const other = await it.newTab(address)
  await dialog(other).waitFor()
  // The page before was another one: closing stays on this page.
  await other.keyboard.press('Escape')
  await dialog(other).waitFor({ state: 'hidden' })
  expect(urlOf(other)).toBe('/sessions?q=long')
  const closed = await it.newTab('/sessions?dialog=apps&of=00000000-0000-4000-8000-000000000000')
  await closed.getByText('long-training').waitFor()
  await expect.poll(() => urlOf(closed)).toBe('/sessions')
})

test('the launch dialog has a URL on every page', async () => {
  await using it = await openConsole(browser, '/account?dialog=launch')
  const heading = it.page.getByRole('heading', { name: 'New session' })
  await heading.waitFor()
  await it.page.keyboard.press('Escape')
  await heading.waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(it.page)).toBe('/account')
})

test('dialogs of administration have URLs, and one of a thing that is gone closes', async () => {
  await using it = await openConsole(browser, '/admin/presets', { role: 'superadmin' })
  const { page } = it
  await button(page, 'Create a preset').click()
  await page.getByRole('dialog').waitFor()
  expect(urlOf(page)).toBe('/admin/presets?dialog=new')
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  const gone = await it.newTab('/admin/presets?dialog=edit&of=nothing')
  await expect.poll(() => urlOf(gone)).toBe('/admin/presets')
})

test('forms of the account have URLs; the set-up of a second factor that is on does not open', async () => {
  await using it = await openConsole(browser, '/account?dialog=password')
  const { page } = it
  await page.getByRole('dialog', { name: 'Change password' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await expect.poll(() => urlOf(page)).toBe('/account')
  await button(page, 'Use an existing key').click()
  await page.getByRole('dialog').waitFor()
  expect(urlOf(page)).toBe('/account?dialog=ssh-key')
  await page.goBack()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  const other = await it.newTab('/account?dialog=second-factor')
  await other.getByRole('dialog').waitFor()
  it.world.totp = { enabled: true, recoveryCodesLeft: 8 }
  const on = await it.newTab('/account?dialog=second-factor')
  await expect.poll(() => urlOf(on)).toBe('/account')
  expect(await on.getByRole('dialog').count()).toBe(0)
})
