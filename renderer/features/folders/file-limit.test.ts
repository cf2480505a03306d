import { expect, test } from 'vitest'
import { fileLimitOf } from './file-limit.ts'

test.each([
  ['', null],
  ['100000', 100_000],
  [' 1,000,000 ', 1_000_000],
  ['0', undefined],
  ['1.5', undefined],
  ['1,5', undefined],
  ['2000000000', undefined],
])('a limit typed as %j is %s files', (text, files) => {
  expect(fileLimitOf(text)).toBe(files)
})
