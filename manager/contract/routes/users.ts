import { z } from 'zod'
import { DomainName } from '../domains.ts'
import { GroupId, UserId } from '../ids.ts'
import { PlainText } from '../plain-text.ts'
import { Role, User, UserChange, UserSpec } from '../users.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** Users, as an admin manages them. */
export const USER_ROUTES = {
  listUsers: {
    method: 'GET',
    path: '/api/v1/users',
    access: 'domain_admin',
    summary: 'List users, oldest first. An admin of a domain sees its users, except superadmins.',
    query: Page.extend({
      active: z.stringbool().optional(),
      domain: DomainName.optional(),
      group: GroupId.optional(),
      role: Role.optional(),
      search: PlainText.max(254).optional().describe('Part of the e-mail address or the name, in any letter case.'),
    }),
    reply: pageOf(User),
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
  updateUser: {
    method: 'PATCH',
    path: '/api/v1/users/:id',
    access: 'domain_admin',
    summary: 'Rename, deactivate or re-activate a user, change role, domain or groups, or set a new password.',
    params: z.object({ id: UserId }),
    body: UserChange,
    reply: User,
  },
} as const satisfies Record<string, RouteSpec>
