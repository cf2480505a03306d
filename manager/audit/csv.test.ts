import { expect, test } from 'vitest'
import { csvCell } from './csv.ts'

test.each([
  ['plain', 'plain'],
  ['a, b', '"a, b"'],
  ['a "b"', '"a ""b"""'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
])('the cell %j is written as %j', (text, cell) => {
  expect(csvCell(text)).toBe(cell)
})
