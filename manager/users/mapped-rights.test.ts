import { expect, test } from 'vitest'
import { type Role } from '#manager/contract'
import { type Given, nextMemberships, nextRole, ownRole } from './mapped-rights.ts'

const gave = (given_role: Role | null, role_before: Role | null = given_role && 'user'): Given => ({
  given_groups: [],
  given_role,
  role_before,
  doubtful: false,
})

test('a role is the own one below all that mappings gave, in whatever order they gave it', () => {
  expect(ownRole('superadmin', [gave('domain_admin'), gave('superadmin', 'domain_admin')])).toBe('user')
  expect(ownRole('superadmin', [gave('domain_admin')])).toBe('superadmin')
})

test('a role that is taken back leaves the one that another linked account gives', () => {
  const others = [gave('domain_admin')]
  expect(nextRole({ role: 'superadmin', mine: gave('superadmin'), others }, null).role).toBe('domain_admin')
  expect(nextRole({ role: 'superadmin', mine: others[0] ?? gave(null), others: [gave('superadmin')] }, null)).toEqual({
    role: 'superadmin',
    givenRole: null,
    roleBefore: null,
  })
})

test('a role that is taken back is not left by a doubtful linked account whose row notes the same one', () => {
  const doubtful = { ...gave('superadmin'), doubtful: true }
  const taken = { role: 'user', givenRole: null, roleBefore: null }
  expect(nextRole({ role: 'superadmin', mine: gave('superadmin'), others: [doubtful] }, null)).toEqual(taken)
  expect(nextRole({ role: 'superadmin', mine: gave(null), others: [doubtful] }, null)).toEqual(taken)
  expect(nextRole({ role: 'superadmin', mine: doubtful, others: [gave('superadmin')] }, null).role).toBe('superadmin')
})

test('a role of the account is never lowered by a mapping', () => {
  expect(nextRole({ role: 'superadmin', mine: gave(null), others: [] }, 'domain_admin').role).toBe('superadmin')
})

test('a membership is taken back where no administrator and no other linked account gave it', () => {
  const state = { current: ['own', 'mine', 'both'], mine: ['mine', 'both'], others: ['both'] }
  expect(nextMemberships({ ...state, wanted: [] })).toEqual({ add: [], remove: ['mine'], given: [] })
  expect(nextMemberships({ ...state, wanted: ['own', 'both', 'new'] })).toEqual({
    add: ['new'],
    remove: ['mine'],
    given: ['both', 'new'],
  })
})
