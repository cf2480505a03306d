import { expect, test } from 'vitest'
import { LocalNames } from './local-path.ts'

test('names that a computer without bytes in names cannot have are readable, and no two are the same', () => {
  const names = new LocalNames()
  const take = (name: string) => names.take('d', name)
  expect(take('latin1-\uefe9.txt')).toBe('latin1-%E9.txt')
  expect(take('latin1-\uefe8.txt')).toBe('latin1-%E8.txt')
  expect(take('latin1-%E9.txt')).toBe('latin1-%E9 (1).txt')
  expect(take('100%.txt')).toBe('100%.txt')
  expect(take('README')).toBe('README')
  expect(take('readme')).toBe('readme (1)')
  expect(take('é'.normalize('NFC'))).toBe('é'.normalize('NFC'))
  expect(take('é'.normalize('NFD'))).toBe(`${'é'.normalize('NFD')} (1)`)
  // The directory of an entry is requested again with each file in it.
  expect(take('readme')).toBe('readme (1)')
  expect(names.take('other', 'readme')).toBe('readme')
})
