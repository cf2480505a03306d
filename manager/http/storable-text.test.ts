import { expect, test } from 'vitest'
import { hasUnstorableText } from './storable-text.ts'

const check = (json: string) => hasUnstorableText(json, JSON.parse(json))

test.each(['["\\ud85d"]', '{"a":{"b":["x","y\\udc00z"]}}', '{"\\ud800":1}', '"\\u0000"', '{"a\\u0000b":1}'])(
  '%s cannot be stored',
  json => {
    expect(check(json)).toBe(true)
  },
)

test.each(['["\\ud83d\\ude00"]', '{"a":"\\u00e4","b":null,"c":[1,true]}', '"\\\\u0000"', '"plain"'])(
  '%s can be stored',
  json => {
    expect(check(json)).toBe(false)
  },
)

test('however deep', () => {
  const deep = (text: string) => `${'['.repeat(200_000)}${text}${']'.repeat(200_000)}`
  expect(check(deep('"\\u0000"'))).toBe(true)
  expect(check(deep('"\\u00e4"'))).toBe(false)
})
