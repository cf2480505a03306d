import { expect, test } from 'vitest'
import { type UserRow } from '../store/identity/users.ts'
import { newsOf } from './account-news.ts'

const ROW = {
  id: 'ann',
  role: 'user',
  domain: 'default',
  active: true,
  name: 'Ann',
  description: '',
} as unknown as UserRow
const by = { userId: 'chief', email: 'chief@example.org' } as never
const nothing = { passwordSet: false, passwordEnded: false, isUnlinked: false, projectsChanged: false }
const told = (change: Partial<UserRow>, more: Partial<typeof nothing> = {}) =>
  newsOf(by, { before: ROW, after: { ...ROW, ...change }, ...nothing, ...more }).map(({ kind, detail }) =>
    detail === '' ? kind : `${kind} ${detail}`,
  )

test('a person is told each thing that is another than before, and nothing else', () => {
  expect(told({})).toEqual([])
  expect(told({ role: 'domain_admin' }, { passwordEnded: true })).toEqual([
    'role_changed domain_admin',
    'password_ended',
  ])
  expect(told({ domain: 'lab' }, { projectsChanged: true })).toEqual(['domain_changed lab'])
  expect(told({ active: false })).toEqual(['account_deactivated'])
  expect(told({ name: 'Anne' }, { projectsChanged: true })).toEqual(['projects_changed', 'account_changed'])
  expect(told({}, { passwordSet: true })).toEqual(['password_set'])
})
