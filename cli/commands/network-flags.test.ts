import { expect, test } from 'vitest'
import { networkOf, networkText } from './network-flags.ts'

test('names make an allow list, and without options the template stays', () => {
  const before = { mode: 'allowlist' as const, names: ['pypi.org'] }
  expect(networkOf({}, undefined)).toBeUndefined()
  expect(networkOf({}, before)).toBe(before)
  expect(networkOf({ allowName: ['example.org'] }, before)).toEqual({ mode: 'allowlist', names: ['example.org'] })
  expect(networkOf({ network: 'allowlist' }, before)).toBe(before)
  expect(networkOf({ network: 'none' }, before)).toEqual({ mode: 'none' })
  expect(networkText(before)).toBe('only pypi.org')
})

test.each([
  [{ network: 'none' as const, allowName: ['pypi.org'] }, /takes no --allow-name/],
  [{ network: 'allowlist' as const }, /needs names/],
])('%j is refused', (flags, why) => {
  expect(() => networkOf(flags, undefined)).toThrow(why)
})
