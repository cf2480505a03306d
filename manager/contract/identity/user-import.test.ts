import { expect, test } from 'vitest'
import { userFileText, userImportRows } from './user-import.ts'

test('the columns of a file are found by name, in any order and letter case', () => {
  const cells = [
    ['\uFEFFName', 'E-Mail Address', 'ROLE', 'projects', 'phone'],
    ['Ada Lovelace', ' ada@example.org ', 'User', 'vision; nlp', '1'],
    ['', 'bob@example.org', 'Domain administrator', '', '2'],
    ['', '', '', '', ''],
  ]
  expect(userImportRows(cells)).toEqual([
    { email: 'ada@example.org', name: 'Ada Lovelace', role: 'user', groups: ['vision', 'nlp'] },
    { email: 'bob@example.org', role: 'domain_admin' },
  ])
})

test('a short line has empty cells, and a file without addresses or without lines has no rows', () => {
  expect(userImportRows([['email', 'name'], ['ada@example.org']])).toEqual([{ email: 'ada@example.org' }])
  expect(
    userImportRows([
      ['name', 'role'],
      ['Ada', 'user'],
    ]),
  ).toBeUndefined()
  expect(userImportRows([])).toBeUndefined()
  expect(userImportRows([['email']])).toEqual([])
})

test('a file in UTF-8 or UTF-16 is read, and one in another encoding is refused instead of read wrongly', () => {
  const text = 'email,name\nmina@example.org,김미나\n'
  const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le')
  for (const bytes of [Buffer.from(text), Buffer.from(`\uFEFF${text}`), utf16, Buffer.from(utf16).swap16()])
    expect(userFileText(bytes)).toBe(text)
  // "김미나" as saved by Korean spreadsheet programs.
  const cp949 = Buffer.concat([Buffer.from('email,name\nmina@example.org,'), Buffer.from('b1e8b9ccb3aa', 'hex')])
  expect(userFileText(cp949)).toBeUndefined()
})
