import { z } from 'zod'
import { UserId } from '../ids.ts'
import { User, UserChange, UserSpec } from '../users.ts'
import { Page, pageOf, type RouteSpec } from './route-spec.ts'

/** Users, as an admin manages them. */
export const USER_ROUTES = {
  listUsers: {
    method: 'GET',
    path: '/api/v1/users',
    access: 'superadmin',
    summary: 'List users.',
    query: Page,
    reply: pageOf(User),
  },
  createUser: {
    method: 'POST',
    path: '/api/v1/users',
    access: 'superadmin',
    summary: 'Create a user.',
    body: UserSpec,
    status: 201,
    reply: User,
  },
  updateUser: {
    method: 'PATCH',
    path: '/api/v1/users/:id',
    access: 'superadmin',
    summary: 'Rename, deactivate or re-activate a user, change the role, or set a new password.',
    params: z.object({ id: UserId }),
    body: UserChange,
    reply: User,
  },
} as const satisfies Record<string, RouteSpec>
