import { expect, test } from 'vitest'
import { archivedName, ArchivedNames } from './archived-name.ts'

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
  // Devices of Windows, whatever their case and ending.
  ['CON', '%43ON'],
  ['aux.txt', '%61ux.txt'],
  ['auxiliary.txt', 'auxiliary.txt'],
])('%j is %s in an archive', (name, archived) => {
  expect(archivedName(name)).toBe(archived)
})

test('names that differ by case or by their Unicode form only stay apart, and can be read back', () => {
  const names = new ArchivedNames()
  const given = [
    'README',
    'readme',
    'ReadMe',
    'REadme',
    'A b.',
    'a b.',
    'é'.normalize('NFD'),
    'é'.normalize('NFC'),
    'É',
    '%72eadme',
  ]
  const archived = given.map(name => names.take(name))
  expect(archived.slice(0, 4)).toEqual(['README', '%72%65%61%64%6D%65', 'R%65%61%64%4D%65', 'RE%61%64%6D%65'])
  expect(archived.slice(4)).toEqual(['A b%2E', '%61 b%2E', 'é'.normalize('NFD'), '%C3%A9', '%C3%89', '%2572eadme'])
  expect(archived.map(name => decodeURIComponent(name))).toEqual(given)
  expect(new Set(archived.map(name => name.normalize('NFC').toLowerCase())).size).toBe(given.length)
  expect(names.take('readme')).toBe(archived[1])
})
