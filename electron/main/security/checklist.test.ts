import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')
const rows = [...read('docs/desktop-security.md').matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, item, text = '']) => ({
  item: Number(item),
  text,
}))

test('the page about security goes through all items of the checklist', () => {
  expect(rows.map(({ item }) => item)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
})

test.each(rows)('item $item names tests that are there', ({ text }) => {
  const named = [...text.matchAll(/`([\w./-]+\.test\.ts)` “([^”]+)”/g)].map(([, file = '', title = '']) => ({
    file,
    title,
  }))
  expect(named).not.toEqual([])
  for (const { file, title } of named) {
    const source = read(/^(build|test)\//.test(file) ? file : path.join('electron/main', file))
    expect(source, file).toContain(`'${title}`)
  }
})

test('Electron is pinned to the version that this page names', () => {
  const { devDependencies = {}, dependencies = {} } = JSON.parse(read('package.json')) as Record<
    string,
    Record<string, string> | undefined
  >
  const version = devDependencies['electron'] ?? dependencies['electron']
  expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  expect(rows[15]?.text).toContain(`| ${version}, pinned`)
})
