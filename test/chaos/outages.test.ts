import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Folder, type Session } from '#manager/contract'
import { type Berth, type BerthUser, startBerth } from '../fixtures/berth.ts'
import { launchBrowser, visit, type Visitor } from '../fixtures/browser.ts'
import { PYTHON_IMAGE } from '../fixtures/images.ts'
import { takeAway } from '../fixtures/outage.ts'
import { button, openTerminal, rowOf, screen, signIn, typeLine } from '../e2e/console-steps.ts'

/**
 * The console while a part of Berth is down: it names the part, keeps its contents and typed text, and recovers without a reload. Servers
 * are killed for real. The tests of this file build on each other and run in their order.
 */
const SESSION = 'through-outages'
const FOLDER = 'notes'
const SOON = { timeout: 60_000 }
const GONE = { state: 'detached', ...SOON } as const

let berth: Berth
let browser: Browser
let mira: BerthUser
let visitor: Visitor
let session: Session
let folder: Folder
/** Directory of the folder on the disk. */
let directory: string
/** Four windows of one person: the list of sessions, a terminal, the log of the session, and a file with text that is not saved. */
let page: Page
let terminal: Page
let log: Page
let editor: Page
/** Windows, each with contents that a reload would lose. */
const marked = () => [page, terminal, log, editor]

beforeAll(async () => {
  berth = await startBerth()
  browser = await launchBrowser()
  mira = await berth.user('mira@example.org')
  folder = await mira.api.createFolder({ body: { name: FOLDER } })
  directory = join(berth.data, 'storage/folders', folder.id)
  const what = ['--image', PYTHON_IMAGE, '--name', SESSION, '--cpu', '1', '--mem', '1g', '--folder', FOLDER]
  expect(await mira.cli('session', 'create', ...what, '--wait', '--json')).toMatchObject({ code: 0 })
  ;[session] = (await mira.api.listSessions()).items as [Session]

  visitor = await visit(browser, berth.url)
  page = await visitor.openTab('/sessions')
  await signIn(page, mira.email, mira.password)
  await rowOf(page, SESSION).getByText('Running', { exact: true }).waitFor(SOON)
  terminal = await openTerminal(page, SESSION)
  await typeLine(terminal, `kept="still $((40+2))"; echo one > ${FOLDER}/plan.txt; echo made-$((6*7))`)
  await screen(terminal).filter({ hasText: 'made-42' }).waitFor(SOON)
  log = await visitor.openTab(`/sessions/${session.id}?tab=logs`)
  await log.getByLabel('Search the log').waitFor(SOON)
  editor = await visitor.openTab(`/data/${folder.id}?open=plan.txt`)
  await button(editor, 'Edit').click()
  await write('two')
  for (const tab of marked()) await tab.evaluate(() => Object.assign(window, { marked: true }))
}, 180_000)
afterAll(async () => {
  await browser.close()
  await berth[Symbol.asyncDispose]()
})

async function write(text: string): Promise<void> {
  await editor.locator('.cm-content').press('Control+End')
  await editor.keyboard.type(text)
}
const planOnDisk = () => readFile(join(directory, 'plan.txt'), 'utf8')
/** No window has been reloaded, and none has had an unhandled error. */
async function expectNoReload(): Promise<void> {
  for (const tab of marked()) expect(await tab.evaluate(() => 'marked' in window)).toBe(true)
  // The browser logs each lost request and socket itself.
  const lost = /Failed to load resource|WebSocket connection to|net::ERR_/
  expect(visitor.problems.splice(0).filter(problem => !lost.test(problem))).toEqual([])
}

test('while the agent is away, the list, the terminal, the log and the apps say so, and continue when it is back', async () => {
  {
    await using _outage = await takeAway(berth, 'agent')
    await rowOf(page, SESSION).getByText('Unreachable', { exact: true }).waitFor(SOON)
    await terminal.getByText('The host of this session is not connected').waitFor(SOON)
    // The text on the screen stays.
    expect(await screen(terminal).innerText()).toContain('made-42')
    await log
      .getByText('The host of this session is not connected')
      .or(log.getByText('agent_unreachable'))
      .first()
      .waitFor(SOON)
    await page.getByTitle('Apps: The host of this session is not connected').waitFor(SOON)
  }
  await page.getByTitle('Apps: The host of this session is not connected').waitFor(GONE)
  await rowOf(page, SESSION).getByText('Running', { exact: true }).waitFor(SOON)
  await log.getByText('agent_unreachable').waitFor(GONE)
  await terminal.getByText('Connected', { exact: true }).waitFor(SOON)
  await typeLine(terminal, 'echo "$kept"')
  await screen(terminal).filter({ hasText: 'still 42' }).waitFor(SOON)
  await expectNoReload()
}, 120_000)

test('while the manager is away, each page says so, keeps its rows and its text, and other pages load once it is back', async () => {
  const banner = 'No connection to the manager.'
  const late = await visitor.context.newPage()
  {
    await using _outage = await takeAway(berth, 'manager')
    for (const tab of [page, terminal, log, editor]) await tab.getByText(banner).waitFor(SOON)
    expect(await rowOf(page, SESSION).count()).toBe(1)
    await terminal.getByText('Connection lost').waitFor(SOON)
    await button(editor, 'Save').click()
    await editor
      .getByText('Berth is not available')
      .or(editor.getByText(/manager/i))
      .first()
      .waitFor(SOON)
    // A page that was not loaded yet, and a window that is opened now.
    await log.getByRole('link', { name: 'Data & Storage', exact: true }).first().click()
    await log.getByRole('alert').first().waitFor(SOON)
    await late.goto(`${berth.url}/#/sessions`)
    await late.getByRole('alert').waitFor(SOON)
  }
  for (const tab of [page, terminal, log, editor]) await tab.getByText(banner).waitFor(GONE)
  await log.getByRole('link', { name: FOLDER, exact: true }).waitFor(SOON)
  await rowOf(late, SESSION).waitFor(SOON)
  await late.close()
  await terminal.getByText('Connected', { exact: true }).waitFor(SOON)
  await button(editor, 'Save').click()
  await expect.poll(planOnDisk, SOON).toBe('one\ntwo')
  await expectNoReload()
}, 120_000)

test('while the server of the page is away, each page says so, and continues when it is back', async () => {
  const banner = 'No connection to the server of this page.'
  await write(' three')
  {
    await using _outage = await takeAway(berth, 'console')
    for (const tab of [page, terminal, log, editor]) await tab.getByText(banner).waitFor(SOON)
    expect(await rowOf(page, SESSION).count()).toBe(1)
    await terminal.getByText('Connection lost').waitFor(SOON)
  }
  for (const tab of [page, terminal, log, editor]) await tab.getByText(banner).waitFor(GONE)
  await terminal.getByText('Connected', { exact: true }).waitFor(SOON)
  await expectNoReload()
}, 120_000)

test('while the storage is away, the explorer names it and keeps its files; a text is saved when it is back', async () => {
  const storage = join(berth.data, 'storage')
  await rename(storage, `${storage}.away`)
  try {
    await button(editor, 'Save').click()
    await editor
      .getByText(/The storage .*local/)
      .first()
      .waitFor(SOON)
    await log.reload()
    await log
      .getByText(/local.* cannot be used now/)
      .first()
      .waitFor(SOON)
    await log.evaluate(() => Object.assign(window, { marked: true }))
  } finally {
    await rename(`${storage}.away`, storage)
  }
  await log
    .getByText(/local.* cannot be used now/)
    .first()
    .waitFor(GONE)
  await button(editor, 'Save').click()
  await expect.poll(planOnDisk, SOON).toBe('one\ntwo three')
  await expectNoReload()
}, 120_000)

test('a session that somebody else ends: its terminal says who and why, and its open file is kept and saved', async () => {
  await write(' four')
  const ended = await berth.cli('session', 'rm', session.id, '--why', 'maintenance tonight')
  expect(ended).toMatchObject({ code: 0 })
  await terminal.getByText('The session has ended').waitFor(SOON)
  await terminal.getByText(`Ended by ${berth.adminEmail}: maintenance tonight`).waitFor(SOON)
  expect(await screen(terminal).innerText()).toContain('still 42')
  await rowOf(page, SESSION).waitFor(GONE)
  await write(' five')
  await button(editor, 'Save').click()
  // Do not check the message: that of the previous save may still be shown.
  await expect.poll(planOnDisk, SOON).toBe('one\ntwo three four five')
  await expectNoReload()
  await terminal.getByRole('link', { name: 'Open the session' }).click()
  await terminal.getByRole('heading', { name: SESSION }).waitFor(SOON)
}, 60_000)
