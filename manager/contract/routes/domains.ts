import { z } from 'zod'
import {
  Domain,
  DomainChange,
  DomainName,
  DomainSpec,
  Group,
  GroupChange,
  GroupSort,
  GroupSpec,
  Purge,
  Removed,
} from '../identity/domains.ts'
import { GroupId, UserId } from '../ids.ts'
import { PlainText } from '../plain-text.ts'
import { OptionalPage, pageOf, type RouteSpec } from './route-spec.ts'

const member = z.object({ id: GroupId, userId: UserId })

/** Domains and their groups (projects). */
export const DOMAIN_ROUTES = {
  listDomains: {
    method: 'GET',
    path: '/api/v1/domains',
    access: 'domain_admin',
    summary: 'List domains. An admin of a domain sees only that domain.',
    reply: z.object({ items: z.array(Domain) }),
  },
  createDomain: {
    method: 'POST',
    path: '/api/v1/domains',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Create a domain, with a group named default.',
    body: DomainSpec,
    status: 201,
    reply: Domain,
  },
  updateDomain: {
    method: 'PATCH',
    path: '/api/v1/domains/:name',
    access: 'superadmin',
    summary: 'Change, deactivate or re-activate a domain. Missing fields stay as they are.',
    params: z.object({ name: DomainName }),
    body: DomainChange,
    reply: Domain,
  },
  deleteDomain: {
    method: 'DELETE',
    path: '/api/v1/domains/:name',
    access: 'superadmin',
    summary: 'Delete a domain that has no users, no projects but `default`, and no sessions.',
    params: z.object({ name: DomainName }),
    query: Purge,
    reply: Removed,
  },
  listGroups: {
    method: 'GET',
    path: '/api/v1/groups',
    access: 'user',
    summary:
      'List your own groups (projects), by domain and name unless `sort` says otherwise. An admin sees the groups of the domain, a superadmin all.',
    query: OptionalPage.extend({
      domain: DomainName.optional(),
      mine: z.stringbool().optional(),
      active: z.stringbool().optional(),
      sort: GroupSort.optional().describe('Order, falling with a `-`; groups with the same value by name.'),
      search: PlainText(254)
        .optional()
        .describe('Part of `domain/name`, the description or the id, in any letter case.'),
    }),
    reply: pageOf(Group).extend({ total: z.int().describe('Number of all matches.') }),
  },
  createGroup: {
    method: 'POST',
    path: '/api/v1/groups',
    access: 'domain_admin',
    idempotencyKey: true,
    summary: 'Create a group in a domain.',
    body: GroupSpec,
    status: 201,
    reply: Group,
  },
  updateGroup: {
    method: 'PATCH',
    path: '/api/v1/groups/:id',
    access: 'domain_admin',
    summary: 'Change, deactivate or re-activate a group. Missing fields stay as they are.',
    params: z.object({ id: GroupId }),
    body: GroupChange,
    reply: Group,
  },
  deleteGroup: {
    method: 'DELETE',
    path: '/api/v1/groups/:id',
    access: 'domain_admin',
    summary: 'Delete a group that has no members and no sessions.',
    params: z.object({ id: GroupId }),
    query: Purge,
    reply: Removed,
  },
  addGroupMember: {
    method: 'PUT',
    path: '/api/v1/groups/:id/members/:userId',
    access: 'domain_admin',
    summary: 'Put a user of the same domain into a group. Safe to repeat.',
    params: member,
    status: 204,
    reply: z.void(),
  },
  removeGroupMember: {
    method: 'DELETE',
    path: '/api/v1/groups/:id/members/:userId',
    access: 'domain_admin',
    summary:
      "Remove a user from a group. The user's running sessions in the group stay, waiting ones do not start. Safe to repeat.",
    params: member,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
