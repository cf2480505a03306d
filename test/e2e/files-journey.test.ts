import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FolderId, TUS_VERSION } from '#manager/contract'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { launchBrowser, visit, type Visitor } from '../fixtures/browser.ts'
import { button, signIn } from './console-steps.ts'
import { uploadThroughCuts, writeSource } from './cut-upload.ts'

/**
 * The file explorer of the console on a whole Berth: the results are checked on the disk. The tests of this
 * file build on each other and run in their order.
 */
const FOLDER = 'results'
const SOON = { timeout: 120_000 }
/** Large enough to cut connections in the middle of a transfer; `npm run test:chaos` does the same with 2 GiB. */
const LARGE_MIB = 512

let berth: Berth
let browser: Browser
let visitor: Visitor
let page: Page
/** The folder on the disk. */
let directory: string
let address: string
let folder: FolderId
beforeAll(async () => {
  berth = await startBerth()
  browser = await launchBrowser()
  const { id } = await (await berth.api()).createFolder({ body: { name: FOLDER } })
  folder = id
  directory = join(berth.data, 'storage/folders', id)
  address = `/data/${id}`
  visitor = await visit(browser, berth.url)
  page = await visitor.openTab(address)
  await signIn(page, berth.adminEmail, berth.adminPassword)
  await page.getByText('This directory is empty').waitFor(SOON)
})
// A failed test must not leave anything on the page of the next one, nor problems in its list.
beforeEach(async () => {
  const before = page
  page = await visitor.openTab(address)
  await before.close()
})
afterEach(({ task }) => {
  if (task.result?.state === 'fail') visitor.problems.splice(0)
})
afterAll(async () => {
  await browser.close()
  await berth[Symbol.asyncDispose]()
})

const panel = () => page.getByRole('region', { name: 'Uploads' })
const link = (name: string) => page.getByRole('link', { name, exact: true })
async function select(name: string, modifiers: 'Control'[] = []): Promise<void> {
  const row = page.getByRole('row').filter({ has: link(name) })
  await row.click({ modifiers, position: { x: 600, y: 15 } })
  await row.and(page.locator('[aria-selected=true]')).waitFor()
}
const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer })
const input = () => page.locator('input[data-upload="files"]')
/** Removes the remains of a failed attempt. */
async function removeUpload(name: string): Promise<void> {
  const api = await berth.api()
  const headers = { 'tus-resumable': TUS_VERSION }
  for (const { id } of (await api.listUploads({ params: { id: folder } })).items)
    await api.cancelUpload({ params: { id: folder, uploadId: id }, headers })
  await rm(join(directory, name), { force: true })
}
async function received(act: () => Promise<void>): Promise<{ name: string; content: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent('download'), act()])
  return { name: download.suggestedFilename(), content: await readFile(await download.path()) }
}

test('small files arrive unchanged, and are listed', async () => {
  await input().setInputFiles([file('notes.txt', Buffer.from('one\n')), file('empty', Buffer.alloc(0))])
  await panel().getByRole('heading', { name: '2 files uploaded' }).waitFor(SOON)
  await link('notes.txt').waitFor()
  expect(await readFile(join(directory, 'notes.txt'), 'utf8')).toBe('one\n')
  expect((await stat(join(directory, 'notes.txt'))).mode & 0o777).toBe(0o644)
  expect((await stat(join(directory, 'empty'))).size).toBe(0)
})

test('many small files arrive in few requests, and a taken name among them is asked about', async () => {
  await writeFile(join(directory, 'many-3'), 'theirs')
  const sent: string[] = []
  page.on('request', request => {
    if (request.method() === 'POST' && request.url().includes('/folders/')) sent.push(new URL(request.url()).pathname)
  })
  const many = Array.from({ length: 60 }, (_, n) => file(`many-${n}`, Buffer.from(`content ${n}`)))
  await input().setInputFiles(many)
  await button(page, 'Replace').click(SOON)
  await panel().getByRole('heading', { name: '60 files uploaded' }).waitFor(SOON)
  for (const { name, buffer } of many) expect(await readFile(join(directory, name), 'utf8')).toBe(buffer.toString())
  expect(sent.filter(path => path.endsWith('/bundles'))).toHaveLength(1)
  expect(sent.length).toBeLessThan(5)
  // The next tests search for rows in a short list.
  for (const { name } of many) await rm(join(directory, name))
  await page.reload()
  await link('notes.txt').waitFor(SOON)
})

test('a large file survives five kills of the console and a reload, and is never visible in part', async () => {
  await removeUpload('large.bin')
  const source = join(berth.data, 'large.bin')
  const sha256 = await writeSource(source, LARGE_MIB)
  await uploadThroughCuts({ berth, page, directory, source, sha256, timeoutMs: 60_000 })
  // The browser logs each lost request as a failed resource.
  visitor.problems.splice(0)
})

test('a text is edited, and a change by somebody else meanwhile is not lost', async () => {
  await link('notes.txt').click()
  await button(page, 'Edit').click()
  await page.locator('.cm-content').press('Control+End')
  await page.keyboard.type('two')
  await button(page, 'Save').click()
  await page.getByText('notes.txt saved').waitFor()
  expect(await readFile(join(directory, 'notes.txt'), 'utf8')).toBe('one\ntwo')

  // Writes like a session.
  await writeFile(join(directory, 'notes.txt'), 'theirs')
  await page.locator('.cm-content').press('Control+End')
  await page.keyboard.type('mine')
  await button(page, 'Save').click()
  await page.getByRole('heading', { name: 'The file has changed meanwhile' }).waitFor()
  await button(page, 'Save yours as a copy').click()
  await page.getByText('notes (2).txt saved').waitFor()
  expect(await readFile(join(directory, 'notes.txt'), 'utf8')).toBe('theirs')
  expect(await readFile(join(directory, 'notes (2).txt'), 'utf8')).toBe('one\ntwomine')
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  // The browser logs the refused save as a failed resource.
  expect(visitor.problems.splice(0).filter(problem => !/412/.test(problem))).toEqual([])
})

test('one file downloads as it is, several as a ZIP', async () => {
  await select('notes.txt')
  const one = await received(() => button(page, 'Download').click())
  expect(one.name).toBe('notes.txt')
  expect(one.content.toString()).toBe('theirs')
  await select('notes (2).txt', ['Control'])
  const both = await received(() => button(page, 'Download').click())
  expect(both.name).toBe(`${FOLDER}.zip`)
  expect(both.content.subarray(0, 4).toString('latin1')).toBe('PK\u0003\u0004')
  expect(both.content.includes('one\ntwomine')).toBe(true)
})

test('directories are made, files moved into them and deleted', async () => {
  await button(page, 'New').click()
  await page.getByText('New directory').click()
  await page.getByLabel('Name').fill('kept')
  await page.keyboard.press('Enter')
  await link('kept').waitFor()
  await select('empty')
  await page.keyboard.press('Control+x')
  await link('kept').click()
  await page.getByText('This directory is empty').waitFor()
  await page.keyboard.press('Control+v')
  await link('empty').waitFor()
  expect(await readdir(join(directory, 'kept'))).toEqual(['empty'])
  await select('empty')
  await page.keyboard.press('Delete')
  await button(page, 'Delete permanently').click()
  await link('empty').waitFor({ state: 'detached' })
  expect(await readdir(join(directory, 'kept'))).toEqual([])
  expect(visitor.problems.splice(0)).toEqual([])
  await button(page, 'Delete permanently').waitFor({ state: 'detached' })
  await page.keyboard.press('Backspace')
  await link('notes.txt').waitFor()
})

test('files are cut in one folder and pasted in another, and copied back beside a file of the same name', async ({
  task,
}) => {
  const archive = `archive-${task.result?.retryCount ?? 0}`
  const { id } = await (await berth.api()).createFolder({ body: { name: archive } })
  const other = join(berth.data, 'storage/folders', id)
  const toFolder = async (name: string) => {
    await page.getByRole('link', { name: 'Data & Storage', exact: true }).first().click()
    await link(name).click()
  }
  await select('notes.txt')
  await select('kept', ['Control'])
  await page.keyboard.press('Control+x')
  await toFolder(archive)
  await page.getByText('This directory is empty').waitFor()
  await button(page, 'New').click()
  await page.getByText('Paste 2 entries').click()
  await page.getByText(`2 entries moved to ${archive}`).waitFor()
  expect((await readdir(other)).toSorted()).toEqual(['kept', 'notes.txt'])
  expect(await readdir(directory)).not.toContain('notes.txt')

  await writeFile(join(directory, 'notes.txt'), 'new ones')
  await select('notes.txt')
  await page.keyboard.press('Control+c')
  await page.getByText('1 entry is ready to copy').waitFor()
  // The list is loaded before the folder with the person's rights.
  await page.route(`**/api/v1/folders/${folder}`, async route => {
    await new Promise(resolve => setTimeout(resolve, 1_000))
    await route.continue()
  })
  await toFolder(FOLDER)
  await link('notes.txt').waitFor()
  await page.keyboard.press('Control+v')
  await page.getByRole('heading', { name: 'notes.txt exists' }).waitFor()
  await button(page, 'Keep both').click()
  await page.getByText(`1 entry copied to ${FOLDER}`).waitFor()
  expect(await readFile(join(directory, 'notes (1).txt'), 'utf8')).toBe('theirs')
  expect(await readFile(join(directory, 'notes.txt'), 'utf8')).toBe('new ones')
  // The browser logs the refused copy as a failed resource.
  expect(visitor.problems.splice(0)).toEqual([expect.stringMatching(/409 .*\/imports$/)])
})
