import { expect, test } from 'vitest'
import { spelled } from './spelling.ts'

test('attributes are read in any case, at any depth; others stay as they are', () => {
  expect(
    spelled({ USERNAME: 'Ada', Emails: [{ VALUE: 'a@b.org', Primary: true }], Name: { GIVENNAME: 'Ada' }, Nick: 'A' }),
  ).toEqual({ userName: 'Ada', emails: [{ value: 'a@b.org', primary: true }], name: { givenName: 'Ada' }, Nick: 'A' })
})

test('a value that is nested deeper than any resource is refused, and takes no stack', () => {
  const deep: unknown = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000))
  expect(() => spelled({ userName: 'Ada', nick: deep })).toThrow(expect.objectContaining({ status: 400 }))
})
