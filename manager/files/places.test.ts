import { expect, test } from 'vitest'
import { numbered } from './places.ts'

test.each([
  ['notes.txt', 'notes (1).txt'],
  ['data.tar.gz', 'data (1).tar.gz'],
  ['v1.2.csv', 'v1.2 (1).csv'],
  ['.profile', '.profile (1)'],
  ['Makefile', 'Makefile (1)'],
  ['line\nbreak.txt', 'line\nbreak (1).txt'],
])('%j gets its number before its ending', (name, expected) => expect(numbered(name, 1)).toBe(expected))

test('a name that is too long for a number loses whole characters at its end', () => {
  const name = numbered(`${'한'.repeat(83)}a.txt`, 12)
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255)
  expect(name).toMatch(/^한+ \(12\)\.txt$/)
})
