import { expect, test } from 'vitest'
import { inShort, readNames } from './account-news.ts'

const many = Array.from({ length: 50 }, (_, at) => `.file-${at + 10}`)

test.each([
  { names: [], total: 0, detail: '' },
  { names: ['.bashrc'], total: 1, detail: '.bashrc' },
  { names: ['.bashrc', '.zshrc'], total: 2, detail: '.bashrc, .zshrc' },
  { names: ['.bashrc', '.zshrc'], total: 60, detail: '.bashrc, .zshrc\n+58' },
  { names: ['x'.repeat(400)], total: 1, detail: `${'x'.repeat(299)}…` },
])('names in short: $detail', ({ names, total, detail }) => {
  expect(inShort(names, total)).toBe(detail)
})

test('a long list has whole names, and the number of the others', () => {
  const { names, more } = readNames(inShort(many, 61))
  expect(names.length).toBeLessThanOrEqual(300)
  expect(names.split(', ')).toEqual(many.slice(0, 61 - more))
  expect(more).toBeGreaterThan(11)
})
