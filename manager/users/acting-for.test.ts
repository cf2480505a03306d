import { expect, test } from 'vitest'
import { type UserId } from '#manager/contract'
import {
  endsDoubt,
  endsWhatOthersKnew,
  isReachable,
  mayActivateKeypair,
  mayHoldSecret,
  othersMayKnowPassword,
  requireAnother,
  takesOwnThings,
} from './acting-for.ts'

const [ann, bob] = ['ann', 'bob'] as unknown as [UserId, UserId]

test('a secret of another person passes through the hands of an administrator only where no mail reaches the person', () => {
  expect(isReachable({ email: 'ann@example.org' }, { mailReady: true })).toBe(true)
  expect(isReachable({ email: 'ann@example.org' }, { mailReady: false })).toBe(false)
  expect(isReachable({ email: 'admin@localhost' }, { mailReady: true })).toBe(false)
  expect(mayHoldSecret({ role: 'domain_admin' }, true)).toBe(false)
  expect(mayHoldSecret({ role: 'domain_admin' }, false)).toBe(true)
  expect(mayHoldSecret({ role: 'superadmin' }, true)).toBe(true)
})

test.each([
  ['user', 'default', 'domain_admin', 'default', true],
  ['domain_admin', 'default', 'superadmin', 'default', true],
  ['superadmin', 'default', 'user', 'default', false],
  ['user', 'default', 'user', 'default', false],
  ['superadmin', 'default', 'user', 'lab', true],
] as const)(
  'what others knew of a %s of %s who becomes a %s of %s ends: %s',
  (role, domain, nextRole, nextDomain, ends) => {
    expect(endsWhatOthersKnew({ role, domain }, { role: nextRole, domain: nextDomain })).toBe(ends)
  },
)

test.each([
  [true, 'person', false],
  [true, 'administrator', true],
  [true, 'unknown', true],
  [true, 'superadmin', true],
  [false, 'administrator', false],
] as const)('others may know a password that is set: %s, by %s: %s', (password_set, password_from, expected) => {
  expect(othersMayKnowPassword({ password_set, password_from })).toBe(expected)
})

test.each([
  ['unknown', 'person', true],
  ['superadmin', 'person', true],
  ['administrator', 'superadmin', true],
  ['superadmin', 'superadmin', false],
  ['superadmin', 'unknown', false],
  ['person', 'superadmin', false],
] as const)('the doubt about a password of %s ends with one of %s: %s', (before, after, ends) => {
  expect(endsDoubt(before, after)).toBe(ends)
})

test('only owners activate keypairs, and only sessions that their owner started take the owner’s things along', () => {
  expect(mayActivateKeypair({ userId: ann }, { id: ann })).toBe(true)
  expect(mayActivateKeypair({ userId: bob }, { id: ann })).toBe(false)
  expect(takesOwnThings({ starterId: ann, ownerId: ann })).toBe(true)
  expect(takesOwnThings({ starterId: bob, ownerId: ann })).toBe(false)
})

test('the administrator’s way is refused for the own account, with the own way', () => {
  expect(() => requireAnother({ userId: ann }, bob, 'make_link')).not.toThrow()
  expect(() => requireAnother({ userId: ann }, ann, 'end_sign_ins')).toThrow('DELETE /api/v1/me/logins')
})
