import { expect, test } from 'vitest'
import { archivedName } from './archived-name.ts'

test.each([
  ['보고서 (1).txt', '보고서 (1).txt'],
  ['100%.txt', '100%.txt'],
  // Bytes that are not UTF-8, as of names in Latin-1.
  ['latin1-\uefe9.txt', 'latin1-%E9.txt'],
  ['latin1-\uefe8.txt', 'latin1-%E8.txt'],
  ['latin1-%E9.txt', 'latin1-%25E9.txt'],
  ['C:\\a', 'C%3A%5Ca'],
  ['a\nb\u007f', 'a%0Ab%7F'],
  ['a\u202eb', 'a%E2%80%AEb'],
  // Windows takes none of these, and leaves out a point or blank at the end, so that two names could become one.
  ['what? *new* "a|b" <c>', 'what%3F %2Anew%2A %22a%7Cb%22 %3Cc%3E'],
  ['ends.', 'ends%2E'],
  ['ends ', 'ends%20'],
  ['...', '..%2E'],
  ['.hidden file.txt', '.hidden file.txt'],
])('%j is %s in an archive', (name, archived) => {
  expect(archivedName(name)).toBe(archived)
})
