import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BROWSER } from '../fixtures/browser.ts'
import { aFolder, filesOf, FOLDER_ID, type DoubleFiles } from './console-double-files.ts'
import { openConsole, startBrowser } from './console-open.ts'

/** Previews and the text editor of the explorer, on the double. */
let browser: Browser
beforeAll(async () => {
  // The headless shell has no viewer of PDF files.
  browser = await startBrowser({ program: BROWSER })
})
afterAll(() => browser.close())

const HOME = `/data/${FOLDER_ID}`
async function open(files: DoubleFiles, path = HOME) {
  const opened = await openConsole(browser, path, { folders: [aFolder()], files })
  return opened
}
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describe('previews', () => {
  test('text, a table, Markdown and a picture are shown, by links and with Back', async () => {
    await using it = await open(
      filesOf({
        'a.py': 'def f():\n    return 1\n',
        'b.csv': 'name,age\nMira,30\n',
        'c.md': '# Hello\n\n<script>document.title = "bad"</script>\n',
        'd.png': PNG,
      }),
    )
    await it.page.getByRole('link', { name: 'a.py' }).click()
    await it.page.getByText('return').waitFor()
    await it.page.goBack()
    await it.page.getByRole('dialog').waitFor({ state: 'detached' })
    // Escape goes back only one step, however many parts of the page receive it.
    await it.page.getByRole('link', { name: 'a.py' }).click()
    await it.page.getByText('return').waitFor()
    await it.page.keyboard.press('Escape')
    await it.page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new URL(it.page.url()).hash).toBe(`#${HOME}`)
    await it.page.getByRole('link', { name: 'c.md' }).waitFor()
    await it.page.goto(`${it.double.url}/#${HOME}?open=b.csv`)
    await it.page.getByRole('columnheader', { name: 'age' }).waitFor()
    await it.page.goto(`${it.double.url}/#${HOME}?open=c.md`)
    await it.page.getByRole('heading', { name: 'Hello' }).waitFor()
    expect(await it.page.title()).not.toBe('bad')
    await it.page.goto(`${it.double.url}/#${HOME}?open=d.png`)
    const picture = it.page.getByRole('img', { name: 'd.png' })
    await picture.waitFor()
    await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1)
  })

  test('a text in another encoding is shown, can be read in others, and is not edited', async () => {
    // CP949: 한글 보고서
    const korean = Buffer.from([0xc7, 0xd1, 0xb1, 0xdb, 0x20, 0xba, 0xb8, 0xb0, 0xed, 0xbc, 0xad])
    await using it = await open(filesOf({ 'old.txt': korean }), `${HOME}?open=old.txt`)
    await it.page.getByText('한글 보고서').waitFor()
    await it.page.getByText('This text is not UTF-8').waitFor()
    expect(await button(it.page, 'Edit').count()).toBe(0)
    await it.page.getByRole('combobox', { name: 'Encoding' }).press('ArrowDown')
    await it.page.getByRole('option', { name: 'Western European (Latin-1)' }).click()
    await it.page.getByText('ÇÑ±Û').waitFor()
    expect(await button(it.page, 'Edit').count()).toBe(0)
  })

  test('the note about cut lines follows the encoding that the reader chooses', async () => {
    // No UTF-8 because of its first byte: letters of Latin-1, or marks in UTF-8.
    const bytes = Buffer.concat([Buffer.from([0xff]), Buffer.from(`a${'\u0301'.repeat(20_000)}`)])
    await using it = await open(filesOf({ 'marks.txt': bytes }), `${HOME}?open=marks.txt`)
    const note = it.page.getByText('Very long lines are cut')
    const readAs = async (encoding: string) => {
      await it.page.getByRole('combobox', { name: 'Encoding' }).press('ArrowDown')
      await it.page.getByRole('option', { name: encoding, exact: true }).click()
    }
    await it.page.getByText('This text is not UTF-8').waitFor()
    expect(await note.count()).toBe(0)
    await readAs('UTF-8')
    await note.waitFor()
    await readAs('Western European (Latin-1)')
    await note.waitFor({ state: 'detached' })
  })

  test('lines that a browser would need minutes for are cut, with a note, and not edited', async () => {
    const long = `a${'\u0301'.repeat(300_000)}`
    await using it = await open(
      filesOf({ 'a.txt': `first\n${long}\nlast\n`, 'b.md': `# Hello\n\n${long}\n`, 'c.csv': `name\n${long}\n` }),
    )
    for (const [name, text] of [
      ['a.txt', 'last'],
      ['b.md', 'Hello'],
      ['c.csv', 'name'],
    ] as const) {
      await it.page.getByRole('link', { name }).click()
      const dialog = it.page.getByRole('dialog')
      await dialog.getByText('Very long lines are cut').waitFor()
      await dialog.getByText(text, { exact: true }).first().waitFor()
      expect(await button(it.page, 'Edit').count()).toBe(0)
      await it.page.goBack()
      await dialog.waitFor({ state: 'detached' })
    }
  })

  test('a table shows a chosen cell whole, by click and by keys, cells beyond the head, and says that columns are left out', async () => {
    const long = 'a sentence that is longer than a column is wide '.repeat(9)
    const wide = Array.from({ length: 250 }, (_, column) => `c${column}`).join(',')
    await using it = await open(
      filesOf({ 'a.csv': `name,note\nMira,"${long}",beyond\nJun,short\n`, 'b.csv': `${wide}\n${wide}\n` }),
      `${HOME}?open=a.csv`,
    )
    await it.page.getByRole('cell', { name: 'beyond' }).waitFor()
    const whole = it.page.getByRole('dialog').locator('.whole')
    await it.page.getByRole('cell', { name: long.trim() }).click()
    expect(await whole.textContent()).toBe(long)
    await it.page.keyboard.press('Escape')
    await whole.waitFor({ state: 'detached' })
    await it.page.keyboard.press('Enter')
    await it.page.keyboard.press('ArrowRight')
    expect(await whole.textContent()).toBe(long)
    await it.page.keyboard.press('ArrowDown')
    expect(await whole.textContent()).toBe('short')
    for (let row = 2; row > 0; row--) await it.page.keyboard.press('ArrowUp')
    expect(await whole.textContent()).toBe('note')
    await it.page.goto(`${it.double.url}/#${HOME}?open=b.csv`)
    await it.page.getByText('The first 200 of 250 columns are shown').waitFor()
  })

  test('a PDF file is shown by the viewer of the browser', async () => {
    await using it = await open(filesOf({ 'paper.pdf': aPdf('Tides of the North Sea') }), `${HOME}?open=paper.pdf`)
    const frame = it.page.locator('iframe[title="paper.pdf"]')
    await frame.waitFor()
    expect(await it.page.evaluate(() => navigator.pdfViewerEnabled)).toBe(true)
    expect(await frame.getAttribute('src')).toMatch(/^blob:/)
    // Chromium draws the content by an extension of the browser, in a process and with an origin of its own.
    const isViewer = (url: string) => url.startsWith('chrome-extension://')
    await expect.poll(() => it.page.frames().some(one => isViewer(one.url()))).toBe(true)
  })

  test('a notebook shows its outputs and runs nothing', async () => {
    const cell = {
      cell_type: 'code',
      execution_count: 1,
      source: 'x',
      outputs: [
        { output_type: 'stream', text: 'printed' },
        {
          output_type: 'display_data',
          data: { 'text/html': '<b>rich</b><img src=x onerror="document.title=1"><script>document.title=1</script>' },
        },
      ],
    }
    await using it = await open(filesOf({ 'n.ipynb': JSON.stringify({ cells: [cell] }) }), `${HOME}?open=n.ipynb`)
    await it.page.getByText('rich').waitFor()
    await it.page.getByText('printed').waitFor()
    expect(await it.page.title()).not.toBe('1')
    expect(await it.page.locator('.notebook script, .notebook [onerror]').count()).toBe(0)
  })

  test('a large text shows its beginning; binary files have no preview', async () => {
    await using it = await open(
      filesOf({ 'big.log': 'line\n'.repeat(400_000), 'x.dat': Buffer.from([0, 1, 2]) }),
      `${HOME}?open=big.log`,
    )
    await it.page.getByText(/The first 1 MiB of 1.91 MiB are shown/).waitFor()
    expect(await button(it.page, 'Edit').count()).toBe(0)
    await it.page.goto(`${it.double.url}/#${HOME}?open=x.dat`)
    await it.page.getByText('This file has no preview.').waitFor()
  })
})

describe('the text editor', () => {
  test('the editor saves, and asks before unsaved changes are lost', async () => {
    const files = filesOf({ 'a.txt': 'one\n' })
    await using it = await open(files)
    await it.page.getByRole('link', { name: 'a.txt' }).click()
    await button(it.page, 'Edit').click()
    await it.page.locator('.cm-content').press('Control+End')
    await it.page.keyboard.type('two')
    await button(it.page, 'Close').click()
    await it.page.getByRole('heading', { name: 'Leave a.txt without saving?' }).waitFor()
    await button(it.page, 'Keep editing').click()
    await it.page.goBack()
    await button(it.page, 'Keep editing').click()
    expect(it.page.url()).toContain('open=a.txt')
    await button(it.page, 'Save').click()
    await it.page.getByText('a.txt saved').waitFor()
    expect(files.get('a.txt')?.content.toString()).toBe('one\ntwo')
    await button(it.page, 'Close').click()
    await it.page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('the editor shows both versions if somebody else saved first', async () => {
    const files = filesOf({ 'a.txt': 'one\n' })
    await using it = await open(files, `${HOME}?open=a.txt`)
    await button(it.page, 'Edit').click()
    await it.page.locator('.cm-content').press('Control+End')
    await it.page.keyboard.type('mine')
    files.set('a.txt', { content: Buffer.from('theirs'), modifiedAt: new Date().toISOString(), version: 7 })
    await button(it.page, 'Save').click()
    await it.page.getByRole('heading', { name: 'The file has changed meanwhile' }).waitFor()
    await it.page.getByLabel('Version in the folder').getByText('theirs').waitFor()
    await button(it.page, 'Save yours as a copy').click()
    await it.page.getByText('a (2).txt saved').waitFor()
    expect([files.get('a.txt')?.content.toString(), files.get('a (2).txt')?.content.toString()]).toEqual([
      'theirs',
      'one\nmine',
    ])
  })
})

/** A PDF of one page with one line of text. */
function aPdf(text: string): Buffer {
  const content = `BT /F1 24 Tf 72 720 Td (${text}) Tj ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  const body = objects.map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`).join('')
  return Buffer.from(`%PDF-1.4\n${body}trailer\n<< /Root 1 0 R /Size ${objects.length + 1} >>\n%%EOF\n`)
}
