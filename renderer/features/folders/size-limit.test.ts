import { expect, test } from 'vitest'
import { sizeLimitOf, sizeLimitText } from './size-limit.ts'

test.each([
  ['', null],
  ['2', 2 * 2 ** 30],
  ['0,5', 2 ** 29],
  ['0.0001', undefined],
  ['many', undefined],
  ['-1', undefined],
])('a limit typed as %j is %s bytes', (text, bytes) => {
  expect(sizeLimitOf(text)).toBe(bytes)
})

test('a limit is shown as it is typed', () => {
  expect([null, 2 ** 31, 2 ** 29].map(sizeLimitText)).toEqual(['', '2', '0.5'])
})
