import { expect, test } from 'vitest'
import { userImportRows } from './user-import.ts'

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
