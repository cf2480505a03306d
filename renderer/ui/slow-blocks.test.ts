// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { markdownHtml } from './safe-html.ts'
import { cutSlowBlocks } from './slow-lines.ts'

const LENGTH = 30_000
const MARKS = '\u0301'.repeat(100)

function cutHtml(html: string): HTMLElement {
  const root = document.createElement('div')
  root.innerHTML = html
  cutSlowBlocks(root)
  return root
}

test.each([
  ['lines of a paragraph, which a browser joins', `<p>${`a${MARKS}\n`.repeat(LENGTH / 100)}</p>`],
  ['characters that are written as entities', `<p>a${'&#769;'.repeat(LENGTH)}</p>`],
  ['parts in other type', `<p>${`<b>a${MARKS}</b>`.repeat(LENGTH / 100)}</p>`],
  ['one preformatted line', `<pre>${`<i>a${MARKS}</i>`.repeat(LENGTH / 100)}</pre>`],
])('very many slow characters are cut in %s', (_, html) => {
  const text = cutHtml(`<p>before</p>${html}<p>after</p>`).textContent
  expect(text.startsWith('before')).toBe(true)
  expect(text.endsWith('after')).toBe(true)
  expect(text).toContain('…')
  expect(text.length).toBeLessThan(12_000)
})

test('many paragraphs, rows and preformatted lines stay as they are', () => {
  const line = 'سلام '.repeat(1_000)
  const html = [
    `<p>${line}</p>`.repeat(5),
    `<table><tbody>${`<tr><td>${line}</td></tr>`.repeat(5)}</tbody></table>`,
    `<p>${`${line}<br>`.repeat(5)}</p>`,
    `<pre>${`${line}\n`.repeat(5)}</pre>`,
  ].join('')
  expect(cutHtml(html).innerHTML).toBe(html)
})

test('a Markdown file is cut as it is shown', () => {
  const html = markdownHtml(`# Title\n\na${'&#769;'.repeat(LENGTH)}\n\n*last*\n`)
  expect(html).toMatch(/Title.*….*<em>last<\/em>/s)
  expect(html.length).toBeLessThan(12_000)
})
