import { expect, test } from 'vitest'
import { spelled } from './spelling.ts'

test('attributes are read in any case, at any depth; others stay as they are', () => {
  expect(
    spelled({ USERNAME: 'Ada', Emails: [{ VALUE: 'a@b.org', Primary: true }], Name: { GIVENNAME: 'Ada' }, Nick: 'A' }),
  ).toEqual({ userName: 'Ada', emails: [{ value: 'a@b.org', primary: true }], name: { givenName: 'Ada' }, Nick: 'A' })
})
