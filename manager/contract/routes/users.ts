import { z } from 'zod'
import { ChangedUser } from '../identity/accounts.ts'
import { DomainName } from '../identity/domains.ts'
import { GroupId, UserId } from '../ids.ts'
import { Login } from '../identity/logins.ts'
import { PlainText } from '../plain-text.ts'
import { ResourcePolicyName } from '../quotas/policy-name.ts'
import { UserImportReply, UserImportSpec } from '../identity/user-import.ts'
import { Role, User, UserChange, UserSort, UserSpec } from '../identity/users.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** Users, as an admin manages them. */
export const USER_ROUTES = {
  listUsers: {
    method: 'GET',
    path: '/api/v1/users',
    access: 'domain_admin',
    summary:
      'List users, oldest first unless `sort` says otherwise. An admin of a domain sees its users, except superadmins.',
    query: Page.extend({
      active: z.stringbool().optional(),
      domain: DomainName.optional(),
      group: GroupId.optional(),
      resourcePolicy: ResourcePolicyName.optional(),
      role: Role.optional(),
      sort: UserSort.optional().describe('Order, falling with a `-`; users with the same value by age.'),
      search: PlainText(254).optional().describe('Part of the e-mail address or the name, in any letter case.'),
    }),
    reply: pageOf(User).extend({ total: z.int().describe('Number of all matches.') }),
  },
  getUser: {
    method: 'GET',
    path: '/api/v1/users/:id',
    access: 'domain_admin',
    summary: 'One user.',
    params: z.object({ id: UserId }),
    reply: User,
  },
  createUser: {
    method: 'POST',
    path: '/api/v1/users',
    access: 'domain_admin',
    idempotencyKey: true,
    summary: 'Create a user.',
    body: UserSpec,
    status: 201,
    reply: User,
  },
  importUsers: {
    method: 'POST',
    path: '/api/v1/users/import',
    access: 'domain_admin',
    summary: 'Create the users of a file, each with a link to set a password. Accounts that exist are not changed.',
    body: UserImportSpec,
    // Seven parts for each row.
    jsonParts: 2_000,
    reply: UserImportReply,
  },
  updateUser: {
    method: 'PATCH',
    path: '/api/v1/users/:id',
    access: 'domain_admin',
    summary: 'Rename, deactivate or re-activate a user, change role, domain or groups, or set a new password.',
    params: z.object({ id: UserId }),
    body: UserChange,
    reply: ChangedUser,
  },
  listUserLogins: {
    method: 'GET',
    path: '/api/v1/users/:id/logins',
    access: 'domain_admin',
    summary: 'Valid sign-ins of a user, the last used first.',
    params: z.object({ id: UserId }),
    reply: z.object({ items: z.array(Login) }),
  },
  endUserLogins: {
    method: 'DELETE',
    path: '/api/v1/users/:id/logins',
    access: 'domain_admin',
    summary: 'End all sign-ins of another user, and the links that were made for the account. Sessions continue.',
    params: z.object({ id: UserId }),
    reply: z.object({ ended: z.int().describe('How many.') }),
  },
} as const satisfies Record<string, RouteSpec>
