import { describe, expect, test } from 'vitest'
import { hasUnstorableText, withStorableText } from './storable-text.ts'

test.each([
  ['["\\ud85d"]', [String.fromCharCode(0xfffd)]],
  ['{"a":{"b":["x","y\\uDC00z"]}}', { a: { b: ['x', 'y\u{fffd}z'] } }],
  ['{"\\ud800":1}', { '\u{fffd}': 1 }],
  ['"\\u0000"', ''],
  ['{"a\\u0000b":1}', { ab: 1 }],
  ['"\\\\\\u0000n"', '\\n'],
  ['"\\ud83d\\ud83d\\ude00"', '\u{fffd}😀'],
  ['"\\ude00\\ud83d"', '\u{fffd}\u{fffd}'],
])('%s cannot be stored until it is cleaned', (json, cleaned) => {
  expect(hasUnstorableText(json)).toBe(true)
  expect(JSON.parse(withStorableText(json))).toEqual(cleaned)
})

test.each([
  '["\\ud83d\\ude00","\\uD83D\\uDE00"]',
  '{"a":"\\u00e4","b":null,"c":[1,true]}',
  '"\\\\u0000"',
  '"\\\\\\\\ud800"',
  '"plain 😀"',
])('%s can be stored, and is not changed', json => {
  expect(hasUnstorableText(json)).toBe(false)
  expect(withStorableText(json)).toBe(json)
})

describe('deep or long values do not need the stack', () => {
  const deep = (text: string) => `${'['.repeat(200_000)}${text}${']'.repeat(200_000)}`

  test('a deeply nested value is cleaned', () => {
    expect(hasUnstorableText(deep('"\\u0000"'))).toBe(true)
    expect(hasUnstorableText(deep('"\\u00e4"'))).toBe(false)
    expect(withStorableText(deep('"a\\u0000"'))).toBe(deep('"a"'))
  })

  test('millions of backslashes are read', () => {
    const backslashes = '\\\\'.repeat(4_000_000)
    expect(hasUnstorableText(`"${backslashes}u0000"`)).toBe(false)
    expect(hasUnstorableText(`"${backslashes}\\u0000"`)).toBe(true)
  })
})
