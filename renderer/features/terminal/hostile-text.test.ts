import { expect, test } from 'vitest'
import { isWebLink, mayCopy, shownTitle } from './hostile-text.ts'

test('a title that a program sets is cut where nobody reads on', () => {
  expect(shownTitle('vim notes.md')).toBe('vim notes.md')
  expect(shownTitle('x'.repeat(10_000_000))).toBe(`${'x'.repeat(200)}…`)
  // A character of two code units is not parted.
  expect(shownTitle('\u{1f600}'.repeat(201))).toBe(`${'\u{1f600}'.repeat(200)}…`)
})

test.each([
  ['https://example.org', true],
  ['HTTPS://EXAMPLE.ORG/A', true],
  ['Http://localhost:8888', true],
  ['javascript:alert(1)', false],
  ['file:///etc/passwd', false],
  ['https:example.org', false],
  [' https://example.org', false],
])('%s is a link for a browser: %s', (url, expected) => {
  expect(isWebLink(url)).toBe(expected)
})

test('a program copies only while the person is at its terminal, and no endless text', () => {
  const field = {} as Node
  const box = { contains: (node: Node | null) => node === field }
  expect(mayCopy('text', box, field)).toBe(true)
  expect(mayCopy('text', box, {} as Node)).toBe(false)
  expect(mayCopy('text', box, null)).toBe(false)
  expect(mayCopy('text', null, field)).toBe(false)
  expect(mayCopy('x'.repeat(2 * 1024 * 1024), box, field)).toBe(false)
})
