import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Access, isAppError, type Role, UserId } from '#manager/contract'
import {
  type Account,
  administers,
  authorizeRoute,
  type Caller,
  canEnter,
  canManage,
  canSee,
  canSeeKeypair,
  managesAccount,
  requireMayAssign,
  sharedAs,
  visibleAccounts,
  visibleTo,
} from './authorize.ts'

const idOf = (index: number) => UserId.parse(`01990000-0000-7000-8000-${String(index).padStart(12, '0')}`)
const ROLES = ['user', 'domain_admin', 'superadmin'] as const
const anyRole = fc.constantFrom(...ROLES)
const anyDomain = fc.constantFrom('red', 'blue', 'green')
const anyId = fc.integer({ min: 1, max: 4 }).map(idOf)
const anyAccount: fc.Arbitrary<Account> = fc.record({ id: anyId, role: anyRole, domain: anyDomain })

function callerOf({ id, role, domain }: Account): Caller {
  return { userId: id, email: 'a@b.c', role, domain, loginId: 'login', keypair: null, scopes: null }
}
const anyCaller = anyAccount.map(callerOf)
const ownedBy = (owner: Account) => ({ ownerId: owner.id, domain: owner.domain })

const superadmin = callerOf({ id: idOf(9), role: 'superadmin', domain: 'red' })
const admin = callerOf({ id: idOf(1), role: 'domain_admin', domain: 'red' })
const user = callerOf({ id: idOf(2), role: 'user', domain: 'red' })

const refused = (act: () => void): string => {
  try {
    act()
  } catch (error) {
    return isAppError(error) ? error.code : 'no AppError'
  }
  return 'allowed'
}

describe('routes', () => {
  const MAY: Record<Access, readonly (Role | 'nobody')[]> = {
    none: ['nobody', ...ROLES],
    user: ROLES,
    domain_admin: ['domain_admin', 'superadmin'],
    superadmin: ['superadmin'],
    console: [],
  }
  test.each(Object.entries(MAY) as [Access, readonly string[]][])(
    'routes with access %s may be called by %j',
    (access, allowed) => {
      for (const [who, caller] of Object.entries({ nobody: null, user, domain_admin: admin, superadmin })) {
        const outcome = refused(() => authorizeRoute({ access }, caller))
        expect(outcome).toBe(allowed.includes(who) ? 'allowed' : who === 'nobody' ? 'not_signed_in' : 'forbidden')
      }
    },
  )

  test('an unknown kind of access is refused to everybody except superadmins', () => {
    expect(refused(() => authorizeRoute({ access: 'new' as Access }, admin))).toBe('forbidden')
    expect(refused(() => authorizeRoute({ access: 'new' as Access }, null))).toBe('not_signed_in')
  })
})

describe('sessions', () => {
  test('users see their own sessions, an admin of a domain those in it, a superadmin all', () => {
    const mine = { ownerId: user.userId, domain: 'blue' }
    expect([user, admin, superadmin].map(caller => canSee(caller, mine))).toEqual([true, false, true])
    const near = { ownerId: idOf(3), domain: 'red' }
    expect([user, admin, superadmin].map(caller => canSee(caller, near))).toEqual([false, true, true])
    const far = { ownerId: idOf(3), domain: 'blue' }
    expect([user, admin, superadmin].map(caller => canSee(caller, far))).toEqual([false, false, true])
  })

  const { userId } = user
  const of = (shares: Record<UserId, 'view' | 'use'>) => ({ ownerId: idOf(3), domain: 'blue', shares })

  test('a member with whom it is shared sees it, enters it only to use it, and never manages it', () => {
    const rights = (session: Parameters<typeof canSee>[1]) => [
      canSee(user, session),
      canEnter(user, session),
      canManage(user, session),
    ]
    expect(rights(of({ [userId]: 'view' }))).toEqual([true, false, false])
    expect(rights(of({ [userId]: 'use' }))).toEqual([true, true, false])
    expect(rights(of({ [idOf(4)]: 'use' }))).toEqual([false, false, false])
    expect(rights(of({}))).toEqual([false, false, false])
    expect(rights({ ...of({}), shares: null })).toEqual([false, false, false])
  })

  test('sharing gives admins who are members the right of members, and takes nothing from them', () => {
    const near = { ownerId: idOf(3), domain: 'red' }
    expect(canEnter(admin, near)).toBe(false)
    expect(canEnter(admin, { ...near, shares: { [admin.userId]: 'use' } })).toBe(true)
    expect(canManage(admin, { ...near, shares: { [admin.userId]: 'view' } })).toBe(true)
    expect(sharedAs(user, { ownerId: userId, shares: { [userId]: 'view' } })).toBeNull()
  })

  test('only the owner may enter a session that is not shared', () => {
    fc.assert(
      fc.property(anyCaller, anyAccount, (caller, owner) => {
        expect(canEnter(caller, ownedBy(owner))).toBe(caller.userId === owner.id)
        if (canEnter(caller, ownedBy(owner))) expect(canSee(caller, ownedBy(owner))).toBe(true)
      }),
    )
  })

  test('lists contain exactly the sessions that are visible one by one', () => {
    fc.assert(
      fc.property(anyCaller, anyAccount, (caller, owner) => {
        const filter = visibleTo(caller)
        const listed = !filter || owner.id === filter.ownerId || owner.domain === filter.domain
        expect(listed).toBe(canSee(caller, ownedBy(owner)))
      }),
    )
  })
})

describe('accounts', () => {
  test('an admin of a domain manages its users and admins, but no superadmin and nobody elsewhere', () => {
    const manages = (role: Role, domain: string) => managesAccount(admin, { id: idOf(3), role, domain })
    expect(ROLES.map(role => manages(role, 'red'))).toEqual([true, true, false])
    expect(ROLES.map(role => manages(role, 'blue'))).toEqual([false, false, false])
  })

  test('a user manages nobody, not even themselves; a superadmin manages everybody', () => {
    fc.assert(
      fc.property(anyAccount, anyAccount, (who, account) => {
        expect(managesAccount(callerOf({ ...who, role: 'user' }), account)).toBe(false)
        expect(managesAccount(callerOf({ ...who, role: 'superadmin' }), account)).toBe(true)
      }),
    )
  })

  test('lists contain exactly the accounts that the caller manages', () => {
    const anyAdmin = anyAccount.filter(account => account.role !== 'user').map(callerOf)
    fc.assert(
      fc.property(anyAdmin, anyAccount, (caller, account) => {
        const { domain, superadmins = true } = visibleAccounts(caller)
        const listed =
          (domain === undefined || account.domain === domain) && (superadmins || account.role !== 'superadmin')
        expect(listed).toBe(managesAccount(caller, account))
      }),
    )
  })

  test('keypairs are visible to their user and to those who manage the account', () => {
    fc.assert(
      fc.property(anyCaller, anyAccount, (caller, owner) => {
        expect(canSeeKeypair(caller, owner)).toBe(caller.userId === owner.id || managesAccount(caller, owner))
      }),
    )
  })

  test('nobody assigns a role above their own, or reaches into another domain', () => {
    const assign = (caller: Caller, role: Role, domain: string) =>
      refused(() => requireMayAssign(caller, { role, domain, active: true }))
    expect(ROLES.map(role => assign(admin, role, 'red'))).toEqual(['allowed', 'allowed', 'forbidden'])
    expect(ROLES.map(role => assign(admin, role, 'blue'))).toEqual(['forbidden', 'forbidden', 'forbidden'])
    expect(ROLES.map(role => assign(user, role, 'red'))).toEqual(['forbidden', 'forbidden', 'forbidden'])
    expect(ROLES.map(role => assign(superadmin, role, 'blue'))).toEqual(['allowed', 'allowed', 'allowed'])
  })

  test('a keypair gives nobody a role, takes none and moves nobody; it makes users, and changes what is no authority', () => {
    const anyAuthority = fc.record({ role: anyRole, domain: anyDomain, active: fc.boolean() })
    fc.assert(
      fc.property(anyAuthority, anyAuthority, (before, after) => {
        const byKeypair = refused(() => requireMayAssign({ ...superadmin, keypair: 'AKIA' }, after, before))
        const isSame = before.role === after.role && before.domain === after.domain
        const comesBack = after.active && !before.active && after.role !== 'user'
        expect(byKeypair).toBe(isSame && !comesBack ? 'allowed' : 'forbidden')
        expect(refused(() => requireMayAssign(superadmin, after, before))).toBe('allowed')
      }),
    )
    const made = (role: Role) =>
      refused(() => requireMayAssign({ ...superadmin, keypair: 'AKIA' }, { role, domain: 'blue', active: true }))
    expect(ROLES.map(made)).toEqual(['allowed', 'forbidden', 'forbidden'])
  })

  test('no sequence of permitted steps of a domain admin creates a superadmin or reaches another domain', () => {
    fc.assert(
      fc.property(anyAccount, anyRole, anyDomain, (account, role, domain) => {
        const may =
          managesAccount(admin, account) &&
          refused(() => requireMayAssign(admin, { role, domain, active: true })) === 'allowed'
        if (may) {
          expect(account.domain).toBe('red')
          expect({ role, domain }).toEqual({ role: expect.not.stringMatching('superadmin') as string, domain: 'red' })
        }
      }),
    )
  })

  test('groups are managed by the admins of their domain', () => {
    expect([user, admin, superadmin].map(caller => administers(caller, 'red'))).toEqual([false, true, true])
    expect([user, admin, superadmin].map(caller => administers(caller, 'blue'))).toEqual([false, false, true])
  })
})
