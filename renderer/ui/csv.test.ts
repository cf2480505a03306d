import { expect, test } from 'vitest'
import { csvOf } from './csv.ts'

test('cells are quoted if necessary, and a spreadsheet runs no formula from a name', () => {
  const rows = [
    ['Name', 'CPU'],
    ['a,b "c"\nd', 1.5],
    ['=HYPERLINK("http://evil")', null],
    ['-1+1', -1],
  ]
  expect(csvOf(rows)).toBe('\uFEFFName,CPU\r\n"a,b ""c""\nd",1.5\r\n"\'=HYPERLINK(""http://evil"")",\r\n\'-1+1,-1\r\n')
})
