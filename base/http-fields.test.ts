import { expect, test } from 'vitest'
import { codingsOf, namesEtag } from './http-fields.ts'

test.each([
  [undefined, false],
  ['*', true],
  ['"other", W/"this"', true],
  ['"thi"', false],
])('If-None-Match: %s', (field, isNamed) => {
  expect(namesEtag(field, '"this"')).toBe(isNamed)
})

test.each([
  [undefined, []],
  ['GZIP;q=0.5, br', ['gzip', 'br']],
  ['gzip;q=0, br; q=0.000, zstd', ['zstd']],
])('Accept-Encoding: %s', (field, codings) => {
  expect([...codingsOf(field)]).toEqual(codings)
})
