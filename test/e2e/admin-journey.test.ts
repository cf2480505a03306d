import { readFile } from 'node:fs/promises'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { launchBrowser, visit, type Visitor } from '../fixtures/browser.ts'
import { expectAllAdministration, toAdministration } from './administration.ts'
import { button, openLaunchDialog, rowOf, signIn } from './console-steps.ts'

/**
 * A first day of an administrator and of a new user: a real Chromium, the whole of Berth, a real container. The tests of this file
 * build on each other and run in their order.
 */
const ADA = 'ada@example.org'
const PASSWORD = 'Ada-chose-this-1'
const SESSION = 'adas-first'
const SOON = { timeout: 120_000 }

let berth: Berth
let browser: Browser
let admin: Visitor
let page: Page
let ada: Visitor
let adasPage: Page
let link: string
beforeAll(async () => {
  berth = await startBerth()
  browser = await launchBrowser()
  admin = await visit(browser, berth.url)
  ada = await visit(browser, berth.url)
  page = await admin.openTab('/admin/overview')
  await signIn(page, berth.adminEmail, berth.adminPassword)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
})
afterAll(async () => {
  await browser.close()
  await berth[Symbol.asyncDispose]()
})
afterEach(() => {
  expect([...admin.problems.splice(0), ...ada.problems.splice(0)]).toEqual([])
})

const toPage = (name: string) => toAdministration(page, name)

test('every page of administration shows what a fresh Berth has', () => expectAllAdministration(page))

test('a user is imported from a file, sets a password by the link and signs in, without administration', async () => {
  await toPage('Users')
  await button(page, 'Import').click()
  const buffer = Buffer.from(`email,name\n${ADA},Ada Lovelace\n${berth.adminEmail},Somebody else\n`)
  await page.locator('[data-import=users]').setInputFiles({ name: 'users.csv', mimeType: 'text/csv', buffer })
  await button(page, 'Create 1 account').click()
  const downloading = page.waitForEvent('download')
  await button(page, 'Download the links').click()
  const file = await readFile(await (await downloading).path(), 'utf8')
  link = /http\S+?token=[^",\s]+/.exec(file)?.[0] ?? ''
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
  await page.getByRole('row').filter({ hasText: ADA }).waitFor()

  adasPage = await ada.context.newPage()
  await adasPage.goto(link)
  await adasPage.getByLabel('New password', { exact: true }).fill(PASSWORD)
  await adasPage.getByLabel('New password again').fill(PASSWORD)
  await button(adasPage, 'Set password').click()
  await adasPage.getByText('Sign in', { exact: true }).first().click()
  await signIn(adasPage, ADA, PASSWORD)
  const sections = adasPage.getByRole('navigation', { name: 'Sections' })
  await sections.getByRole('link', { name: 'Sessions' }).click()
  expect(await sections.getByRole('link', { name: 'Admin' }).count()).toBe(0)
})

test('while starts are paused her session waits and says so; it is moved up in the queue, and runs when they are resumed', async () => {
  await toPage('Queue')
  await button(page, 'Pause all starts').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Pause all starts' }).click()
  await page.getByText('The start of sessions is paused').waitFor()

  await openLaunchDialog(adasPage)
  await adasPage.getByLabel('Name optional').fill(SESSION)
  await button(adasPage, /^Launch$/).click()
  await rowOf(adasPage, SESSION)
    .getByText(/paused/)
    .first()
    .waitFor()

  const waiting = page.getByRole('row').filter({ hasText: SESSION })
  await waiting.filter({ hasText: ADA }).waitFor()
  await button(page, `Set the priority of ${SESSION}`).click()
  await page.getByRole('combobox', { name: 'Priority' }).press('ArrowDown')
  await page.getByRole('option', { name: '5', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Set the priority' }).click()
  await page.getByText(`${SESSION}: priority set.`).waitFor()
  await button(page, 'Resume starts').click()
  await waiting.waitFor({ state: 'detached', ...SOON })
  await rowOf(adasPage, SESSION).getByText('Running', { exact: true }).waitFor({ timeout: 120_000 })
})

test('the administrator sees it among the sessions and on its agent, ends it, and its owner reads who did', async () => {
  await toPage('Agents')
  await page.getByRole('row').nth(1).getByRole('link').first().click()
  await page.getByText(SESSION).first().waitFor()
  await toPage('All sessions')
  await page.getByRole('row').filter({ hasText: SESSION }).filter({ hasText: ADA }).waitFor()
  await button(page, `End ${SESSION}`).click()
  await page
    .getByRole('alertdialog')
    .getByRole('button', { name: /^Terminate/ })
    .click()
  await page
    .getByRole('row')
    .filter({ hasText: SESSION })
    .waitFor({ state: 'detached', ...SOON })

  await rowOf(adasPage, SESSION).waitFor({ state: 'detached', ...SOON })
  await adasPage.goto(`${berth.url}/#/sessions?list=finished`)
  await rowOf(adasPage, SESSION).getByRole('link', { name: SESSION }).first().click()
  await adasPage.getByText(berth.adminEmail).first().waitFor()
})

test('what was done is in the audit log, without the link', async () => {
  await toPage('Audit log')
  await page.getByRole('row').filter({ hasText: 'Import users' }).first().waitFor()
  const { items } = await (await berth.api()).listAuditLog({ query: { limit: 200 } })
  const actions = new Set(items.map(({ action }) => action))
  for (const action of ['importUsers', 'pauseScheduling', 'setSessionPriority', 'resumeScheduling', 'deleteSession']) {
    expect([...actions]).toContain(action)
  }
  expect(JSON.stringify(items)).not.toContain(new URL(link).hash.split('token=')[1])
})
