import { describe, expect, test } from 'vitest'
import { environError, mergeRows, parseDotEnv, rowError } from './environment.ts'

describe('a pasted .env', () => {
  test('a pasted .env is parsed in its usual notation', () => {
    const text = [
      '\uFEFF# a comment',
      'PLAIN=value # the rest is a comment',
      'export EXPORTED=yes',
      "SINGLE='a $b \\n'",
      'DOUBLE="two\\nlines and \\"quotes\\""',
      'EMPTY=',
      'URL=postgres://u:p@h/db?x=1#frag',
      'not a variable',
      '1BAD=x',
      'PLAIN=last wins',
    ].join('\r\n')
    const { rows, skipped } = parseDotEnv(text)
    expect(Object.fromEntries(rows.map(({ name, value }) => [name, value]))).toEqual({
      PLAIN: 'last wins',
      EXPORTED: 'yes',
      SINGLE: 'a $b \\n',
      DOUBLE: 'two\nlines and "quotes"',
      EMPTY: '',
      URL: 'postgres://u:p@h/db?x=1#frag',
    })
    expect(skipped).toEqual([8, 9])
  })

  test('pasted values replace existing ones and drop empty rows', () => {
    const rows = [
      { name: 'A', value: '1' },
      { name: '', value: '' },
    ]
    const added = [
      { name: 'B', value: '2' },
      { name: 'A', value: '3' },
    ]
    expect(mergeRows(rows, added)).toEqual([
      { name: 'A', value: '3' },
      { name: 'B', value: '2' },
    ])
  })
})

describe('an environment variable', () => {
  test.each([
    ['', '', ''],
    ['', 'value', 'Needs a name'],
    ['1A', '', 'Letters, digits and “_”, not beginning with a digit'],
    ['BERTH_ANYTHING', '', 'Is set by Berth itself'],
    ['LD_PRELOAD', '', 'Is set by Berth itself'],
    ['PATH', '/x', ''],
    ['A', 'x'.repeat(32_769), 'Is longer than 32,768 characters'],
  ])('%s=%s', (name, value, error) => {
    const row = { name, value }
    expect(rowError(row, [row])).toBe(error)
  })

  test('a variable may exist only once', () => {
    const rows = [
      { name: 'A', value: '1' },
      { name: 'A', value: '2' },
    ]
    expect(environError(rows)).toBe('A: appears twice')
  })
})

test.each([
  [
    'values of ASCII',
    [
      { name: 'A', value: 'x'.repeat(32_767) },
      { name: 'B', value: 'x'.repeat(32_768) },
    ],
    '65,537',
  ],
  ['values of three bytes a character', [{ name: 'A', value: '가'.repeat(21_846) }], '65,539'],
])('all variables together have at most 64 KiB: %s', (_, rows, bytes) => {
  expect(environError(rows)).toBe(`The variables have ${bytes} bytes in all, and may have 65,536 (64 KiB)`)
  const shorter = rows.map(({ name, value }) => ({ name, value: value.slice(4) }))
  expect(environError(shorter)).toBe('')
})
