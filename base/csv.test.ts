import { expect, test } from 'vitest'
import { csvLines, csvOf } from './csv.ts'

test.each([
  ['plain', 'plain'],
  ['a=b', 'a=b'],
  ['a, b', '"a, b"'],
  ['a "b"', '"a ""b"""'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['|cmd', "'|cmd"],
  ['%0A=1', "'%0A=1"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['\n=1', `"'\n=1"`],
  ['\0=1', "'\0=1"],
  ['＝1+1', "'＝1+1"],
  ['＠SUM(A1)', "'＠SUM(A1)"],
  ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
])('the text %j is written as the cell %j', (text, cell) => {
  expect(csvLines([[text]])).toBe(`${cell}\r\n`)
})

test('numbers stay numbers, and a missing value is an empty cell', () => {
  expect(csvLines([[-1, 1.5, null, '']])).toBe('-1,1.5,,\r\n')
})

test('a file for a spreadsheet begins with a byte order mark', () => {
  const rows = [
    ['이름', 'CPU'],
    ['학습', 2],
  ]
  expect(csvOf(rows)).toBe('\uFEFF이름,CPU\r\n학습,2\r\n')
})
