import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aFolder, filesOf, FOLDER_ID, type DoubleFiles } from './console-double-files.ts'
import { openConsole, startBrowser } from './console-open.ts'

/** Uploads from the page, on the double: the panel, lost connections, conflicts, a reload. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const HOME = `/data/${FOLDER_ID}`
async function open(files: DoubleFiles) {
  const opened = await openConsole(browser, HOME, { folders: [aFolder()], files })
  return opened
}
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const panel = (page: Page) => page.getByRole('region', { name: 'Uploads' })
const file = (name: string, content: string | Buffer) => ({
  name,
  mimeType: 'application/octet-stream',
  buffer: Buffer.from(content as string),
})
const choose = (page: Page, ...files: ReturnType<typeof file>[]) =>
  page.locator('input[data-upload="files"]').setInputFiles(files)
/** Drags files and directories of this computer onto an element, as a file manager does. */
async function dropFiles(page: Page, selector: string, paths: readonly string[]): Promise<void> {
  const box = await page.locator(selector).boundingBox()
  if (!box) throw new Error(`${selector} is not visible`)
  const at = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  const devtools = await page.context().newCDPSession(page)
  const data = { items: [], files: [...paths], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await devtools.send('Input.dispatchDragEvent', { type, ...at, data })
  await devtools.detach()
}
const LARGE = Buffer.alloc(5 * 1024 * 1024, 'berth')

describe('uploads', () => {
  test('small and large files arrive whole, and the list shows them', async () => {
    const files = filesOf({ 'old.txt': 'x' })
    await using it = await open(files)
    await it.page.getByText('1 entry').waitFor()
    await choose(it.page, file('small.txt', 'hello'), file('large.bin', LARGE), file('empty.txt', ''))
    await panel(it.page).getByRole('heading', { name: '3 files uploaded' }).waitFor()
    await it.page.getByRole('link', { name: 'large.bin' }).waitFor()
    expect(files.get('large.bin')?.content.equals(LARGE)).toBe(true)
    expect(files.get('small.txt')?.content.toString()).toBe('hello')
    expect(files.get('empty.txt')?.content.length).toBe(0)
    // Small files are one request each.
    expect(it.world.changes.filter(({ request }) => request.includes('/uploads')).length).toBe(2 + 3)
  })

  test('an upload continues by itself after lost connections, and sends no byte twice', async () => {
    const files = Object.assign(filesOf({ 'old.txt': 'x' }), { cuts: 2 })
    await using it = await open(files)
    await it.page.getByText('1 entry').waitFor()
    await choose(it.page, file('large.bin', LARGE))
    await panel(it.page).getByText('No connection.').waitFor()
    await panel(it.page).getByRole('heading', { name: '1 file uploaded' }).waitFor()
    expect(files.get('large.bin')?.content.equals(LARGE)).toBe(true)
    expect(files.cuts).toBe(0)
  })

  test('asks once about files that exist', async () => {
    const files = filesOf({ 'a.txt': 'old', 'b.txt': 'old', 'c.txt': 'old' })
    await using it = await open(files)
    await it.page.getByText('3 entries').waitFor()
    await choose(it.page, file('a.txt', 'new'), file('b.txt', 'new'), file('c.txt', 'new'), file('d.txt', 'new'))
    await it.page.getByRole('heading', { name: 'a.txt exists' }).waitFor()
    await it.page.getByLabel('Use this for all files of this upload').check()
    await button(it.page, 'Replace').click()
    await panel(it.page).getByRole('heading', { name: '4 files uploaded' }).waitFor()
    expect(['a.txt', 'b.txt', 'c.txt', 'd.txt'].map(name => files.get(name)?.content.toString())).toEqual(
      Array.from({ length: 4 }, () => 'new'),
    )
  })

  test('a folded or hidden panel keeps uploading; pause and continue work', async () => {
    const files = Object.assign(filesOf({ 'old.txt': 'x' }), { cuts: 1 })
    await using it = await open(files)
    await it.page.getByText('1 entry').waitFor()
    await choose(it.page, file('large.bin', LARGE))
    await panel(it.page).getByText('No connection.').waitFor()
    await button(it.page, 'Pause large.bin').click()
    await panel(it.page).getByText('Paused', { exact: true }).waitFor()
    await it.page.getByRole('link', { name: 'Sessions' }).click()
    await it.page.getByRole('heading', { name: 'Sessions' }).waitFor()
    expect(files.has('large.bin')).toBe(false)
    await button(it.page, 'Continue large.bin').click()
    await panel(it.page).getByRole('heading', { name: '1 file uploaded' }).waitFor()
    expect(files.get('large.bin')?.content.equals(LARGE)).toBe(true)
    await it.page.getByRole('link', { name: 'Statistics' }).click()
    await it.page.getByRole('heading', { name: 'Statistics' }).waitFor()
    await panel(it.page).waitFor({ state: 'detached' })
  })

  test('after a reload the same file continues where it stopped', async () => {
    const files = Object.assign(filesOf({ 'old.txt': 'x' }), { cuts: 1 })
    await using it = await open(files)
    await it.page.getByText('1 entry').waitFor()
    await choose(it.page, file('large.bin', LARGE))
    await panel(it.page).getByText('No connection.').waitFor()
    await button(it.page, 'Pause large.bin').click()
    await it.page.reload()
    await it.page.getByText('1 upload into this folder is not finished.').waitFor()
    await button(it.page, 'Continue…').click()
    await expect.poll(() => it.page.url()).toContain('?dialog=unfinished')
    await it.page.reload()
    const [chooser] = await Promise.all([
      it.page.waitForEvent('filechooser'),
      button(it.page, 'Choose the file…').click(),
    ])
    await chooser.setFiles(file('large.bin', LARGE))
    await panel(it.page).getByRole('heading', { name: '1 file uploaded' }).waitFor()
    expect(it.page.url()).not.toContain('dialog')
    expect(files.get('large.bin')?.content.equals(LARGE)).toBe(true)
    expect(files.uploads?.size).toBe(1)
  })

  test('dropped files and directories are uploaded with their paths, also empty ones', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-test-drop-'))
    try {
      await mkdir(join(folder, 'run', 'logs', 'empty'), { recursive: true })
      await writeFile(join(folder, 'run', 'model.txt'), 'weights')
      await writeFile(join(folder, 'run', 'logs', 'out.txt'), 'done')
      await writeFile(join(folder, 'note.txt'), 'hello')
      const files = filesOf({ 'old.txt': 'x' })
      await using it = await open(files)
      await it.page.getByText('1 entry').waitFor()
      await dropFiles(it.page, '.explorer-card', [join(folder, 'run'), join(folder, 'note.txt')])
      await panel(it.page).getByRole('heading', { name: '3 files uploaded' }).waitFor()
      await it.page.getByRole('link', { name: 'run' }).waitFor()
      const contents = ['run/model.txt', 'run/logs/out.txt', 'note.txt'].map(name =>
        files.get(name)?.content.toString(),
      )
      expect(contents).toEqual(['weights', 'done', 'hello'])
      expect(files.has('run/logs/empty/')).toBe(true)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('cancelled and discarded uploads are gone, also at the server', async () => {
    const files = Object.assign(filesOf({ 'old.txt': 'x' }), { cuts: 3 })
    await using it = await open(files)
    await it.page.getByText('1 entry').waitFor()
    await choose(it.page, file('one.bin', LARGE))
    await panel(it.page).getByText('No connection.').waitFor()
    await button(it.page, 'Cancel one.bin').click()
    await expect.poll(() => files.uploads?.size).toBe(0)

    await choose(it.page, file('two.bin', LARGE), file('three.bin', LARGE))
    await expect.poll(() => panel(it.page).getByText('No connection.').count()).toBe(2)
    await button(it.page, 'Cancel all').click()
    await expect.poll(() => files.uploads?.size).toBe(0)

    files.cuts = 1
    await choose(it.page, file('four.bin', LARGE))
    await panel(it.page).getByText('No connection.').waitFor()
    await button(it.page, 'Pause four.bin').click()
    await it.page.reload()
    await it.page.getByText('1 upload into this folder is not finished.').waitFor()
    await button(it.page, 'Continue…').click()
    await button(it.page, 'Discard four.bin').click()
    await expect.poll(() => files.uploads?.size).toBe(0)
    expect([...files.keys()]).toEqual(['old.txt'])
  })

  test('whoever manages the folder sees uploads of others, which hold room of it, and discards them', async () => {
    const by = { email: 'ada@example.org', name: 'Ada' }
    const theirs = {
      path: 'theirs.bin',
      size: 2 * 2 ** 20,
      bytes: Buffer.alloc(2 ** 20),
      metadata: {},
      finished: false,
      by,
    }
    const files = Object.assign(filesOf({ 'old.txt': 'x' }), { uploads: new Map([['u9', theirs]]) })
    await using it = await open(files)
    await it.page.getByText('1 upload of somebody else into this folder is not finished.').waitFor()
    await it.page.locator('.unfinished').getByRole('button').click()
    await it.page.getByText('Ada (ada@example.org) · 1 MiB of 2 MiB').waitFor()
    await button(it.page, 'Discard theirs.bin').click()
    await expect.poll(() => files.uploads.size).toBe(0)
    await it.page.locator('.unfinished').waitFor({ state: 'detached' })
  })
})
