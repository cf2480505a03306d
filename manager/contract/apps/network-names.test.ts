import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ALLOWED_NAME, beyondBound, commonNames, coversName, keptNames } from './network-names.ts'

test.each([
  ['example.org', true],
  ['*.example.org', true],
  ['a-b.c_d.example.org', true],
  ['xn--bcher-kva.example', true],
  ['EXAMPLE.org', true],
  ['org', false],
  ['*.org', false],
  ['*', false],
  ['a.*.org', false],
  ['*example.org', false],
  ['example.org.', false],
  ['example..org', false],
  ['-a.example.org', false],
  ['10.0.0.1', false],
  ['1.2.3.0x7f', false],
  ['[::1]', false],
  ['example.org:443', false],
  ['https://example.org', false],
  ['exa mple.org', false],
  [`${'a'.repeat(64)}.org`, false],
])('whether %j may be in a list: %s', (name, expected) => {
  expect(ALLOWED_NAME.test(name)).toBe(expected)
})

test('a pattern is checked in a time that grows with the length of the text', () => {
  const began = performance.now()
  for (const text of [`${'a'.repeat(120)}!`, `${'a.'.repeat(120)}!`, `${'0'.repeat(250)}.`])
    expect(ALLOWED_NAME.test(text)).toBe(false)
  expect(performance.now() - began).toBeLessThan(1_000)
})

test.each([
  ['example.org', 'example.org', true],
  ['example.org', 'EXAMPLE.ORG', true],
  ['example.org', 'a.example.org', false],
  ['*.example.org', 'a.example.org', true],
  ['*.example.org', 'a.b.example.org', true],
  ['*.example.org', 'example.org', false],
  ['*.example.org', 'badexample.org', false],
  ['*.example.org', '*.example.org', true],
  ['*.example.org', '*.a.example.org', true],
  ['*.a.example.org', '*.example.org', false],
  ['example.org', '*.example.org', false],
])('whether %s covers %s: %s', (entry, name, expected) => {
  expect(coversName(entry, name)).toBe(expected)
})

test('a request beyond its bound is said with the names, and what two lists allow is within both', () => {
  expect(beyondBound(['a.example.org', 'b.org'], ['*.example.org'])).toEqual(['b.org'])
  expect(beyondBound([], ['a.org'])).toEqual([])
  expect(beyondBound(undefined, ['a.org'])).toBeUndefined()
  expect(beyondBound(undefined, undefined)).toEqual([])
  expect(beyondBound(['a.org'], [])).toEqual(['a.org'])
  expect(keptNames(['A.org', 'a.ORG'])).toEqual(['a.org'])
  const label = fc.constantFrom('a', 'b')
  const entry = fc
    .tuple(fc.boolean(), fc.array(label, { minLength: 1, maxLength: 3 }))
    .map(([wild, labels]) => `${wild ? '*.' : ''}${labels.join('.')}.org`)
  const list = fc.option(fc.array(entry, { maxLength: 4 }), { nil: undefined })
  const allows = (names: readonly string[] | undefined, name: string) =>
    names === undefined || names.some(one => coversName(one, name))
  fc.assert(
    fc.property(list, list, fc.array(label, { minLength: 1, maxLength: 4 }), (one, other, labels) => {
      const name = `${labels.join('.')}.org`
      expect(allows(commonNames(one, other), name)).toBe(allows(one, name) && allows(other, name))
    }),
  )
})
