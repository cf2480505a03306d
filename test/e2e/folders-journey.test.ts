import { type Browser, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { launchBrowser, visit, type Visitor } from '../fixtures/browser.ts'
import {
  button,
  leaveDialog,
  openLaunchDialog,
  openSection,
  openTerminal,
  rowOf,
  screen,
  signIn,
  typeLine,
} from './console-steps.ts'

/**
 * Chapters 7 and 8 of the guide as a person walks them: a real Chromium, the whole of Berth, real containers. The tests of this
 * file build on each other and run in their order.
 */
const FOLDER = 'user2-vfolder'
const SOON = { timeout: 120_000 }

let berth: Berth
let browser: Browser
let admin: Visitor
let page: Page
beforeAll(async () => {
  berth = await startBerth()
  browser = await launchBrowser()
  admin = await visit(browser, berth.url)
  page = await admin.openTab('/data')
  await signIn(page, berth.adminEmail, berth.adminPassword)
})
afterAll(async () => {
  await browser.close()
  await berth[Symbol.asyncDispose]()
})
afterEach(() => {
  expect(admin.problems.splice(0)).toEqual([])
})

async function toSessions(): Promise<void> {
  await page.getByRole('link', { name: 'Sessions', exact: true }).click()
  await page.getByRole('heading', { name: 'Sessions', level: 1 }).waitFor()
}
async function toFolders(): Promise<void> {
  await page.getByRole('link', { name: 'Data & Storage', exact: true }).first().click()
  await page.getByRole('heading', { name: 'Data & Storage', level: 1 }).waitFor()
}
/** Submits the launch dialog, and waits until the session runs. */
async function launch(name: string): Promise<void> {
  await page.getByLabel('Name optional').fill(name)
  await button(page, /^Launch$/).click()
  await rowOf(page, name).getByText('Running', { exact: true }).waitFor({ timeout: 120_000 })
}
async function terminate(name: string): Promise<void> {
  await button(page, `Terminate ${name}`).click()
  await button(page, 'Terminate session').click()
  await rowOf(page, name).waitFor({ state: 'detached', ...SOON })
}

test('a folder is made on its page and mounted by the launch dialog, and a file is written in it', async () => {
  await page.getByText('You have no folder yet').waitFor()
  await button(page, 'New folder').click()
  await page.getByLabel('Name', { exact: true }).fill(FOLDER)
  await page.keyboard.press('Enter')
  await page.getByText(`Created ${FOLDER}.`).waitFor()

  await toSessions()
  await openLaunchDialog(page)
  await page.locator('.fold', { hasText: 'No folder is mounted.' }).waitFor()
  await openSection(page, 'Folders')
  await page.getByRole('combobox', { name: 'Choose folders to mount' }).press('ArrowDown')
  await page.getByRole('option', { name: new RegExp(FOLDER) }).click()
  await page.keyboard.press('Escape')
  await page.getByText('No folder is mounted.').waitFor({ state: 'detached' })
  await launch('first-look')

  const terminal = await openTerminal(page, 'first-look')
  // The shell computes the number, so the typed line does not contain its output.
  await typeLine(terminal, `echo "file inside $((40+2))" > ${FOLDER}/test_file; cat ${FOLDER}/test_file`)
  await screen(terminal).filter({ hasText: 'file inside 42' }).waitFor(SOON)
  // A repository for the session after this one.
  const asMira = '-c user.name=mira -c user.email=mira@example.org'
  await typeLine(terminal, `git init -q ${FOLDER}/notes && cd ${FOLDER}/notes && echo "notes $((40+3))" > read.me`)
  await typeLine(
    terminal,
    `git add . && git ${asMira} commit -qm first && echo "commits: $(git log --oneline | wc -l)"`,
  )
  await screen(terminal).filter({ hasText: 'commits: 1' }).waitFor(SOON)
  await terminal.close()
})

test('the explorer shows at once what the running session writes, and the session reads what the explorer uploads', async () => {
  const explorer = await admin.openTab('/data')
  await explorer.getByRole('link', { name: FOLDER, exact: true }).click()
  await explorer.getByRole('link', { name: 'test_file', exact: true }).waitFor(SOON)
  // Prevents a second check when the window gets the focus.
  await explorer.evaluate(() => window.addEventListener('focus', event => event.stopImmediatePropagation(), true))
  const terminal = await openTerminal(page, 'first-look')
  await typeLine(terminal, `touch ~/${FOLDER}/from-the-session`)
  await explorer.getByRole('link', { name: 'from-the-session', exact: true }).waitFor(SOON)
  const note = { name: 'to-the-session', mimeType: 'text/plain', buffer: Buffer.from('sent by the page\n') }
  await explorer.locator('input[data-upload="files"]').setInputFiles([note])
  await explorer.getByRole('link', { name: note.name, exact: true }).waitFor(SOON)
  await typeLine(terminal, `cd ~/${FOLDER}; clear; cat to-the-session; rm from-the-session to-the-session`)
  await screen(terminal).filter({ hasText: 'sent by the page' }).waitFor(SOON)
  for (const name of ['from-the-session', note.name])
    await explorer.getByRole('link', { name, exact: true }).waitFor({ state: 'detached', ...SOON })
  await terminal.close()
  await explorer.close()
})

test('the folder shows which session uses it, and cannot go to the trash before that session has ended', async () => {
  await toFolders()
  await page.getByText('In use: first-look').waitFor()
  await button(page, `Move ${FOLDER} to trash`).click()
  await page.getByRole('link', { name: 'first-look' }).waitFor()
  await button(page, /^Move to trash$/).click()
  await page.getByRole('alert').filter({ hasText: 'End them first' }).waitFor()
  await button(page, 'Cancel').click()
  // The browser logs the refusal as a failed resource.
  expect(admin.problems.splice(0)).toEqual([expect.stringMatching(/409 .*\/trash$/)])
})

test('a terminal says that its session has ended, and a file of the session that is open in the editor is saved after it', async () => {
  const editor = await admin.openTab('/data')
  await editor.getByRole('link', { name: FOLDER, exact: true }).click()
  await editor.getByRole('link', { name: 'test_file', exact: true }).click()
  await button(editor, 'Edit').click()
  await editor.locator('.cm-content').press('Control+End')
  await editor.keyboard.type('typed before the end')

  await toSessions()
  const terminal = await openTerminal(page, 'first-look')
  await terminate('first-look')
  await terminal.getByText('The session has ended').waitFor(SOON)
  await terminal.close()

  const text = editor.locator('.cm-content', { hasText: 'typed before the end' })
  await text.press('Control+End')
  await editor.keyboard.type(', saved after it')
  await button(editor, 'Save').click()
  await editor.getByText('test_file saved').waitFor(SOON)
  await editor.close()
})

test('the next session, whose dialog remembers the folder, finds the file and imports a repository; the explorer shows the file', async () => {
  await openLaunchDialog(page)
  await page.locator('.fold', { hasText: FOLDER }).waitFor()
  await openSection(page, 'Folders')
  await page.getByLabel(`Where the session sees ${FOLDER}`).fill('data')
  await page.getByText('At /home/work/data').waitFor()
  await page.getByLabel(`Mount ${FOLDER} read-only`).check()
  // The host does not exist: Git reads the repository in the folder instead.
  await openSection(page, 'Environment variables')
  await button(page, 'Edit variables').click()
  await button(page, 'Paste .env').click()
  const variables = ['COUNT=1', 'KEY_0=url.file:///home/work/data/.insteadOf', 'VALUE_0=https://git.example.org/']
  await page.getByLabel('Lines of a .env file').fill(variables.map(line => `GIT_CONFIG_${line}`).join('\n'))
  await button(page, 'Add variables').click()
  await button(page, /^Save$/).click()
  await button(page, 'Templates and recent').click()
  await button(page, 'Import a repository or notebook').click()
  await page.getByLabel('Address', { exact: true }).fill('https://git.example.org/notes')
  await button(page, 'Add to the session').click()
  await page.getByLabel('Startup command').waitFor()
  await launch('second-look')
  const terminal = await openTerminal(page, 'second-look')
  await typeLine(terminal, 'clear; cat notes/read.me data/test_file; touch data/new')
  await screen(terminal)
    .filter({ hasText: 'notes 43' })
    .filter({ hasText: 'file inside 42' })
    .filter({ hasText: 'typed before the end, saved after it' })
    .filter({ hasText: 'Read-only file system' })
    .waitFor(SOON)
  await terminal.close()
  await terminate('second-look')

  await toFolders()
  await page.getByRole('link', { name: FOLDER, exact: true }).click()
  await page.getByText('test_file').waitFor(SOON)
})

test('two people share the folder: one invites and takes it back, the other reads, is refused, writes once allowed, and loses it', async () => {
  const { api, email } = await berth.user(`mira-${Date.now()}@example.org`)
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  await using mira = await visit(browser, berth.url)
  const hers = await mira.openTab('/data')
  await hers.getByText('Use an access key').click()
  await hers.getByLabel('Access key').fill(accessKey)
  await hers.getByLabel('Secret key', { exact: true }).fill(secretKey)
  await button(hers, /^Sign in$/).click()
  await hers.getByText('You have no folder yet').waitFor(SOON)

  await toFolders()
  await button(page, `Share ${FOLDER}`).click()
  await page.getByLabel('E-mail address').fill(email)
  await button(page, 'Invite').click()
  await page.getByText('Invited, not accepted yet').waitFor()

  // The guest's page shows the invitation without a reload.
  await hers.getByRole('tab', { name: /^Invitations/ }).click()
  await button(hers, `Accept the invitation to ${FOLDER}`).click()
  await page.getByText('Invited, not accepted yet').waitFor({ state: 'detached', ...SOON })
  await hers.getByRole('tab', { name: /^Folders/ }).click()
  await hers.getByRole('link', { name: FOLDER, exact: true }).click()
  await hers.getByText('test_file').waitFor(SOON)
  const note = { name: 'from-mira.txt', mimeType: 'text/plain', buffer: Buffer.from('hello\n') }
  await hers.getByText('Read-only', { exact: true }).waitFor()
  expect(await hers.locator('input[data-upload]').count()).toBe(0)

  await page.getByRole('combobox', { name: `Permission of ${email}` }).press('ArrowDown')
  await page.getByRole('option', { name: 'Read and write' }).click()
  await hers.getByText('Read-only', { exact: true }).waitFor({ state: 'detached', ...SOON })
  await hers.locator('input[data-upload="files"]').setInputFiles([note])
  await hers.getByRole('link', { name: note.name }).waitFor(SOON)

  await button(page, `Remove ${email}`).click()
  await page.getByText('Nobody else has access.').waitFor()
  await leaveDialog(page, /^Share/)
  await hers.getByText('No such folder').waitFor(SOON)
  await page.getByRole('link', { name: FOLDER, exact: true }).click()
  await page.getByRole('link', { name: note.name }).waitFor(SOON)
})

test('the folder is deleted from the trash by typing its name', async () => {
  await toFolders()
  await button(page, `Move ${FOLDER} to trash`).click()
  await button(page, /^Move to trash$/).click()
  await page.getByText('You have no folder yet').waitFor()
  await page.getByRole('tab', { name: 'Trash' }).click()
  await button(page, `Delete ${FOLDER} permanently`).click()
  await page.getByLabel('Type the name of the folder').fill(FOLDER)
  await page.keyboard.press('Enter')
  await page.getByText('The trash is empty').waitFor()
})
