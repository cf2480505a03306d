import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ErrorCode, type Task } from '#manager/contract'
import { type World } from './console-double-world.ts'
import { aFolder, filesOf, FOLDER_ID, type DoubleFiles } from './console-double-files.ts'
import { openConsole, startBrowser } from './console-open.ts'

/** The file explorer in a browser, on the double: effects of keys, the mouse and the URL. */
let browser: Browser
beforeAll(async () => {
  browser = await startBrowser()
})
afterAll(() => browser.close())

const HOME = `/data/${FOLDER_ID}`
const SOME = {
  'data/train.csv': 'a,b\n1,2\n',
  'data/raw/one.bin': 'x',
  'notes.txt': 'hello\n',
  'plot.png': 'png',
  'report.md': '# Report\n',
}
const open = (files: DoubleFiles, path = HOME, world: Partial<World> = {}) =>
  openConsole(browser, path, { folders: [aFolder()], files, ...world })
const row = (page: Page, name: string) => page.locator('.entry', { has: page.getByRole('link', { name, exact: true }) })
const selectedNames = (page: Page) =>
  page.locator('.entry.selected a.name').evaluateAll(links => links.map(link => link.textContent))
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const grid = (page: Page) => page.getByRole('grid')

describe('browsing', () => {
  test('links, keys and the breadcrumb open directories, and Back returns', async () => {
    await using it = await open(filesOf(SOME))
    await row(it.page, 'data').getByRole('link').click()
    await row(it.page, 'train.csv').waitFor()
    expect(it.page.url()).toContain(`${HOME}/data`)
    // The stylesheet of other lists, which is loaded in advance, has a class "table", which must not affect icons of tables.
    expect(await it.page.locator('.entry .file-icon.table').count()).toBe(0)
    await grid(it.page).focus()
    await it.page.keyboard.press('ArrowDown')
    await it.page.keyboard.press('Enter')
    await row(it.page, 'one.bin').waitFor()
    await it.page.goBack()
    await row(it.page, 'train.csv').waitFor()
    await grid(it.page).focus()
    await it.page.keyboard.press('Backspace')
    await row(it.page, 'notes.txt').waitFor()
    await it.page.goto(`${it.double.url}/#${HOME}/data/raw`)
    await row(it.page, 'one.bin').waitFor()
    await it.page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'data', exact: true }).click()
    await row(it.page, 'train.csv').waitFor()
  })

  test('marks in names that turn the direction of writing are visible everywhere, and the names still work', async () => {
    const name = '\u202egpj.exe.txt'
    const files = filesOf({ [`${name.replace('.txt', '')}/${name}`]: 'hello' })
    await using it = await open(files, `${HOME}/${encodeURIComponent(name.replace('.txt', ''))}`)
    await row(it.page, '\ufffdgpj.exe.txt').hover()
    const raw = () =>
      it.page.locator('body').evaluate(body => {
        const elements = [...body.querySelectorAll('*')]
        const values = elements.flatMap(one => [...one.attributes].filter(({ name }) => name !== 'href'))
        return [body.textContent, document.title, ...values.map(({ value }) => value)].filter(text =>
          /[\u202a-\u202e]/.test(text),
        )
      })
    expect(await raw()).toEqual([])
    await row(it.page, '\ufffdgpj.exe.txt').getByRole('button').click()
    await it.page.getByText('Rename').waitFor()
    expect(await raw()).toEqual([])
    await it.page.keyboard.press('Escape')
    await row(it.page, '\ufffdgpj.exe.txt').getByRole('link').click()
    await it.page.getByRole('dialog').getByText('hello').waitFor()
    expect(await raw()).toEqual([])
  })

  test('files are selected with the keyboard and the mouse', async () => {
    await using it = await open(filesOf(SOME))
    await row(it.page, 'notes.txt').click()
    await row(it.page, 'report.md').click({ modifiers: ['Shift'] })
    expect(await selectedNames(it.page)).toEqual(['notes.txt', 'plot.png', 'report.md'])
    await row(it.page, 'plot.png').click({ modifiers: ['Control'] })
    expect(await selectedNames(it.page)).toEqual(['notes.txt', 'report.md'])
    await it.page.keyboard.press('Home')
    await it.page.keyboard.press('Shift+ArrowDown')
    expect(await selectedNames(it.page)).toEqual(['data', 'notes.txt'])
    await it.page.keyboard.press('Control+a')
    await it.page.getByText('4 selected').waitFor()
    await it.page.keyboard.press('Escape')
    await it.page.getByText('4 entries').waitFor()
  })

  test('sorting is kept in the URL', async () => {
    await using it = await open(filesOf({ 'a.txt': '1', 'b.txt': '333', 'c.txt': '22' }))
    await row(it.page, 'a.txt').waitFor()
    await button(it.page, 'Size').click()
    await expect.poll(() => it.page.locator('a.name').allTextContents()).toEqual(['b.txt', 'c.txt', 'a.txt'])
    expect(it.page.url()).toContain('sort=-size')
    await it.page.reload()
    await expect.poll(() => it.page.locator('a.name').allTextContents()).toEqual(['b.txt', 'c.txt', 'a.txt'])
  })

  test('20,000 entries render one screenful of rows', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`f${index}.txt`, '']))
    await using it = await open(filesOf(many))
    await row(it.page, 'f0.txt').waitFor()
    await grid(it.page).focus()
    // The next page is loaded in advance: End goes to the last loaded row, and further once more rows are loaded.
    let last = 0
    for (let page = 1; page <= 3; page++) {
      const before = last
      await expect
        .poll(async () => {
          await it.page.keyboard.press('End')
          last = Number(/\d+/.exec((await it.page.locator('.entry.focused a.name').textContent()) ?? '')?.[0])
          return last
        })
        .toBeGreaterThan(before)
    }
    expect(last).toBeGreaterThanOrEqual(1_499)
    await it.page.keyboard.press('Escape')
    await it.page.getByText(/\d,\d{3} entries loaded/).waitFor()
    expect(await it.page.locator('.entry').count()).toBeLessThan(80)
  })
})

describe('changing files', () => {
  test('all entries are selected, also those that are not loaded, and deleted', async () => {
    const files = filesOf(Object.fromEntries(Array.from({ length: 1_200 }, (_, index) => [`f${index}.txt`, ''])))
    await using it = await open(files)
    await row(it.page, 'f0.txt').click()
    await it.page.keyboard.press('Control+a')
    await button(it.page, 'Select all of this directory').click()
    await it.page.getByText('1,200 selected').waitFor()
    await it.page.keyboard.press('Delete')
    await button(it.page, 'Delete permanently').click()
    await expect.poll(() => files.size).toBe(0)
  })

  test('a directory is made, and a taken name is reported; Back leads from a new file to the list', async () => {
    const files = filesOf(SOME)
    await using it = await open(files)
    await button(it.page, 'New').click()
    await it.page.getByText('New directory').click()
    await it.page.getByLabel('Name').fill('data')
    await button(it.page, 'Create directory').click()
    await it.page.getByText('An entry of this name exists').waitFor()
    await it.page.getByLabel('Name').fill('results')
    await button(it.page, 'Create directory').click()
    await row(it.page, 'results').waitFor()
    expect(await selectedNames(it.page)).toEqual(['results'])
    expect(files.has('results/')).toBe(true)
    await expect.poll(() => it.page.url()).not.toContain('dialog')
    await button(it.page, 'New').click()
    await it.page.getByText('New text file').click()
    await it.page.getByLabel('Name').fill('todo.txt')
    expect(it.page.url()).toContain(`${HOME}?dialog=new-file`)
    await button(it.page, 'Create file').click()
    await it.page.getByRole('dialog', { name: 'todo.txt' }).waitFor()
    expect(it.page.url()).toContain(`${HOME}?open=todo.txt`)
    await it.page.goBack()
    await it.page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(it.page.url().endsWith(HOME)).toBe(true)
  })

  test('F2 renames in place; Escape changes nothing', async () => {
    const files = filesOf(SOME)
    await using it = await open(files)
    await row(it.page, 'notes.txt').click()
    await it.page.keyboard.press('F2')
    await it.page.keyboard.type('other')
    await it.page.keyboard.press('Escape')
    await row(it.page, 'notes.txt').waitFor()
    await it.page.keyboard.press('F2')
    await it.page.keyboard.type('diary')
    await it.page.keyboard.press('Enter')
    await row(it.page, 'diary.txt').waitFor()
    expect([files.has('diary.txt'), files.has('notes.txt')]).toEqual([true, false])
  })

  test('files are deleted after a confirmation', async () => {
    const files = filesOf(SOME)
    await using it = await open(files)
    await row(it.page, 'data').click()
    await row(it.page, 'plot.png').click({ modifiers: ['Control'] })
    await it.page.keyboard.press('Delete')
    await it.page.getByRole('heading', { name: 'Delete 2 entries?' }).waitFor()
    await button(it.page, 'Delete permanently').click()
    await row(it.page, 'data').waitFor({ state: 'detached' })
    expect([...files.keys()]).toEqual(['notes.txt', 'report.md'])
  })

  test('cut and paste asks about each conflict, and keeps both files', async () => {
    const files = filesOf({ ...SOME, 'data/notes.txt': 'old', 'data/plot.png': 'old' })
    await using it = await open(files)
    await row(it.page, 'notes.txt').click()
    await row(it.page, 'report.md').click({ modifiers: ['Shift'] })
    await it.page.keyboard.press('Control+x')
    await row(it.page, 'data').getByRole('link').click()
    await row(it.page, 'train.csv').waitFor()
    await grid(it.page).focus()
    await it.page.keyboard.press('Control+v')
    await it.page.getByRole('heading', { name: 'notes.txt exists' }).waitFor()
    await button(it.page, 'Keep both').click()
    await it.page.getByRole('heading', { name: 'plot.png exists' }).waitFor()
    await button(it.page, 'Replace').click()
    await row(it.page, 'notes (2).txt').waitFor()
    expect([...files.keys()].toSorted()).toEqual([
      'data/notes (2).txt',
      'data/notes.txt',
      'data/plot.png',
      'data/raw/one.bin',
      'data/report.md',
      'data/train.csv',
    ])
    expect(files.get('data/plot.png')?.content.toString()).toBe('png')
  })

  test('files are moved to a directory that is chosen in a dialog', async () => {
    const files = filesOf(SOME)
    await using it = await open(files)
    await row(it.page, 'notes.txt').click({ button: 'right' })
    await it.page.getByText('Move to…').last().click()
    await it.page.getByRole('dialog').getByRole('button', { name: 'data' }).click()
    await it.page.getByRole('dialog').getByRole('button', { name: 'raw' }).click()
    await button(it.page, 'Move here').click()
    await row(it.page, 'notes.txt').waitFor({ state: 'detached' })
    expect(files.has('data/raw/notes.txt')).toBe(true)
  })

  test('files are dragged onto a directory', async () => {
    const files = filesOf(SOME)
    await using it = await open(files)
    await it.page.evaluate(() => {
      const read = ({ dataTransfer }: DragEvent) => (document.title = dataTransfer?.getData('DownloadURL') ?? '')
      window.addEventListener('dragstart', read, { once: true })
    })
    await row(it.page, 'notes.txt').dragTo(row(it.page, 'data'))
    await row(it.page, 'notes.txt').waitFor({ state: 'detached' })
    // Programs outside the page get the file from this address.
    const [type, name, ...address] = (await it.page.title()).split(':')
    expect([type, name]).toEqual(['application/octet-stream', 'notes.txt'])
    expect(address.join(':')).toMatch(/^http:.+content\?path=notes\.txt&download=1$/)
    expect(files.has('data/notes.txt')).toBe(true)
  })

  test('a read-only folder offers no change', async () => {
    await using it = await open(filesOf(SOME), HOME, { folders: [aFolder({ permission: 'ro' })] })
    await row(it.page, 'notes.txt').click()
    await it.page.getByText('Read-only').waitFor()
    await it.page.keyboard.press('Delete')
    await it.page.keyboard.press('F2')
    expect(await it.page.locator('.rename-field, [role="alertdialog"]').count()).toBe(0)
    expect(await button(it.page, 'New').count()).toBe(0)
    expect(it.world.changes.filter(({ request }) => request.includes('/folders/'))).toEqual([])
  })
})

describe('copies that take long', () => {
  const aCopy = (files: number): Task => ({
    id: '00000000-0000-4000-8000-000000000001',
    kind: 'copy',
    target: 'experiments',
    status: 'running',
    error: null,
    rescan: null,
    backup: null,
    sessionId: null,
    pull: null,
    copy: { folderId: FOLDER_ID, files, bytes: files * 1024 },
    startedBy: 'ada@example.org',
    createdAt: '2026-01-01T00:00:00.000Z',
    endedAt: null,
    version: 1,
  })

  test('show their progress, are cancelled, and tell their end', async () => {
    const files = Object.assign(filesOf(SOME), { copies: [aCopy(3)] })
    await using it = await open(files)
    const copies = it.page.getByRole('list', { name: 'Copies and moves in progress' })
    await copies.getByText('Copying: 3 files').waitFor()
    files.copies = [aCopy(1_234)]
    it.double.emit('hint', { topic: 'task', id: aCopy(0).id, version: 2 })
    await copies.getByText('Copying: 1,234 files').waitFor()
    await button(it.page, 'Cancel the copy').click()
    await it.page.getByText('The copy was cancelled.').waitFor()
    expect(await copies.count()).toBe(0)
    files.copies = [aCopy(5)]
    it.double.emit('hint', { topic: 'task', id: aCopy(0).id, version: 3 })
    await copies.getByText('Copying: 5 files').waitFor()
    files.copies = [{ ...aCopy(6), status: 'done' }]
    it.double.emit('hint', { topic: 'task', id: aCopy(0).id, version: 4 })
    await it.page.getByText('Finished: 6 files').waitFor()
  })
})

describe('finding and downloading', () => {
  test('the search covers everything below the directory, and leads to a hit', async () => {
    await using it = await open(filesOf(SOME))
    await it.page.getByLabel('Search below experiments').fill('one')
    await it.page.getByRole('link', { name: 'one.bin' }).waitFor()
    await it.page.getByRole('link', { name: 'data/raw' }).click()
    await row(it.page, 'one.bin').waitFor()
  })

  test('one file downloads as it is, several as a zip', async () => {
    await using it = await open(filesOf(SOME))
    const download = async () => {
      const [got] = await Promise.all([it.page.waitForEvent('download'), button(it.page, 'Download').click()])
      return got.suggestedFilename()
    }
    await row(it.page, 'notes.txt').click()
    expect(await download()).toBe('notes.txt')
    await row(it.page, 'plot.png').click({ modifiers: ['Control'] })
    expect(await download()).toBe('experiments.zip')
  })

  test('while the storage is away the page says so and keeps its rows, and it recovers by itself', async () => {
    const failures = new Map<string, { code: ErrorCode }>()
    await using it = await open(filesOf(SOME), HOME, { failures })
    await row(it.page, 'notes.txt').waitFor()
    await expect.poll(() => it.double.streams()).toBe(1)
    const list = `GET /api/v1/folders/${FOLDER_ID}/entries`
    failures.set(list, { code: 'storage_away' })
    it.double.emit('hint', { topic: 'files', id: FOLDER_ID, version: 1 })
    const notice = it.page.getByText('The storage of the folder is away')
    await notice.waitFor()
    expect(await row(it.page, 'notes.txt').count()).toBe(1)
    failures.delete(list)
    await notice.waitFor({ state: 'detached' })

    failures.set(list, { code: 'storage_away' })
    await it.page.reload()
    await notice.waitFor()
    failures.delete(list)
    await row(it.page, 'notes.txt').waitFor()
  })

  test('a change in another tab appears by its hint', async () => {
    const files = filesOf(SOME)
    await using it = await open(files)
    await row(it.page, 'notes.txt').waitFor()
    await expect.poll(() => it.double.streams()).toBe(1)
    files.set('fresh.txt', { content: Buffer.from(''), modifiedAt: new Date().toISOString(), version: 1 })
    it.double.emit('hint', { topic: 'files', id: FOLDER_ID, version: 1 })
    await row(it.page, 'fresh.txt').waitFor()
  })

  test('hints of other directories cause no listing, and a storm of hints only a few, each to its end', async () => {
    const files = filesOf(SOME)
    await using it = await open(files)
    await row(it.page, 'notes.txt').waitFor()
    await expect.poll(() => it.double.streams()).toBe(1)
    let listed = 0
    it.page.on('requestfinished', request => {
      if (request.url().includes('/entries?')) listed++
    })
    const hint = (path: string) => it.double.emit('hint', { topic: 'files', id: FOLDER_ID, version: 1, path })
    hint('elsewhere')
    files.set('last.txt', { content: Buffer.from(''), modifiedAt: new Date().toISOString(), version: 1 })
    for (let n = 0; n < 100; n++) {
      hint('')
      await it.page.waitForTimeout(10)
    }
    await row(it.page, 'last.txt').waitFor()
    expect(listed).toBeLessThan(8)
  })
})
