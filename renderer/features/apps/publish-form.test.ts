import { expect, test } from 'vitest'
import { addressesOf, defaultHours, hoursOffered, isPasswordOffered, isPortOffered, specOf } from './publish-form.ts'

test('the lifetimes on offer end with the most that is allowed', () => {
  expect(hoursOffered({ maxHours: 168 })).toEqual([1, 8, 24, 168])
  expect(hoursOffered({ maxHours: 5 })).toEqual([1, 5])
  expect(hoursOffered({ maxHours: 8760 })).toEqual([1, 8, 24, 168, 720])
  expect([defaultHours({ maxHours: 168 }), defaultHours({ maxHours: 2 })]).toEqual([8, 2])
})

test('addresses may be separated in any way, and what is left empty is not sent', () => {
  expect(addressesOf(' 203.0.113.7, 203.0.113.0/24\n2001:db8::/32 ')).toEqual([
    '203.0.113.7',
    '203.0.113.0/24',
    '2001:db8::/32',
  ])
  const form = { app: 'web', hours: 8, password: '', addresses: '', port: '' }
  expect(specOf(form)).toEqual({ hours: 8, addresses: [] })
  expect(specOf({ ...form, password: 'p', port: '20007' })).toEqual({
    hours: 8,
    password: 'p',
    addresses: [],
    port: 20_007,
  })
})

test('a port is within the range, or left out', () => {
  const ports = { first: 20_000, last: 20_099 }
  expect(['', '20000', '20099', '19999', 'x', '1.5'].map(text => isPortOffered(text, ports))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ])
})

test('a password follows the rules of the manager, or is left out', () => {
  expect(['', 'Guests-2026', 'guests', 'onlyletters', 'letters-only'].map(isPasswordOffered)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
