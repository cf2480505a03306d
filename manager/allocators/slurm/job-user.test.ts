import { expect, test } from 'vitest'
import { jobUser } from './job-user.ts'

const MAP = { people: { users: { 'ada@example.org': 'ada', 'service@example.org': 'berth' } } }

test.each([
  ['ada@example.org', 'ada'],
  // Jobs of the manager's own user are listed without a name.
  ['service@example.org', null],
  ['eve@example.org', null],
])('the job of %s is of user %s', (email, user) => expect(jobUser(MAP, email, 'berth')).toBe(user))

test('without a map, all jobs are of the user of the manager', () =>
  expect(jobUser({}, 'ada@example.org', 'berth')).toBeNull())
