import { expect, test } from 'vitest'
import { isStrongPassword, UserId } from '#manager/contract'
import { newId, newUuid } from '../store/new-id.ts'
import { equalSecrets, newPassword, newToken } from './secrets.ts'

test('tokens have 256 bits and differ', () => {
  const [a, b] = [newToken(), newToken()]
  expect(a).toMatch(/^berth_[\w-]{43}$/)
  expect(a).not.toBe(b)
})

test('secrets of different lengths can be compared', () => {
  expect(equalSecrets('same', 'same')).toBe(true)
  expect(equalSecrets('same', 'sam')).toBe(false)
  expect(equalSecrets('', 'x')).toBe(false)
})

test('generated passwords always meet the rules', () => {
  for (let i = 0; i < 200; i++) expect(isStrongPassword(newPassword())).toBe(true)
})

test('ids are UUIDv7 and sort by time', () => {
  expect(newId(UserId)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const ids = [3, 1, 2].map(ms => newUuid(1_700_000_000_000 + ms))
  expect(ids.toSorted()).toEqual([ids[1], ids[2], ids[0]])
})
