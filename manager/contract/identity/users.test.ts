import { expect, test } from 'vitest'
import { UserSpec } from './users.ts'

const isTaken = (email: string) => UserSpec.safeParse({ email, name: 'Kim', password: 'x' }).success

test.each(['kim@example.org', 'admin@localhost', 'größe+1@localhost'])('%s is a valid address', email => {
  expect(isTaken(email)).toBe(true)
})

// Refused because the database refuses NUL, terminals interpret escapes, and mail programs parse lists of addresses.
test.each([
  'a\0b@localhost',
  'a\u001b[2J@localhost',
  'a\u202eb@localhost',
  'a,b@localhost',
  '<a>@localhost',
  'a b@localhost',
])('%j is not a valid address', email => {
  expect(isTaken(email)).toBe(false)
})
