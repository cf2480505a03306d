import { z } from 'zod'
import {
  AccessMatrix,
  FairShare,
  ResourceGroup,
  ResourceGroupAccess,
  ResourceGroupAccessChange,
  ResourceGroupChange,
  ResourceGroupName,
  ResourceGroupSpec,
} from '../agents/resource-groups.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ name: ResourceGroupName })

/** Resource groups. */
export const RESOURCE_GROUP_ROUTES = {
  listResourceGroups: {
    method: 'GET',
    path: '/api/v1/resource-groups',
    access: 'user',
    summary: 'List the resource groups that the caller may use, with their settings. A superadmin sees all.',
    reply: z.object({ items: z.array(ResourceGroup) }),
  },
  createResourceGroup: {
    method: 'POST',
    path: '/api/v1/resource-groups',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Create a resource group. Agents join it with a join token of the group.',
    body: ResourceGroupSpec,
    // Enough for the weights of thousands of users.
    jsonParts: 20_000,
    status: 201,
    reply: ResourceGroup,
  },
  updateResourceGroup: {
    method: 'PATCH',
    path: '/api/v1/resource-groups/:name',
    access: 'superadmin',
    summary: 'Change a resource group. Missing fields stay as they are.',
    params: named,
    body: ResourceGroupChange,
    // Enough for the weights of thousands of users.
    jsonParts: 20_000,
    reply: ResourceGroup,
  },
  deleteResourceGroup: {
    method: 'DELETE',
    path: '/api/v1/resource-groups/:name',
    access: 'superadmin',
    summary: 'Delete a resource group that has no agents and no live sessions, with its access rules and join tokens.',
    params: named,
    status: 204,
    reply: z.void(),
  },
  getFairShare: {
    method: 'GET',
    path: '/api/v1/resource-groups/:name/fair-share',
    access: 'domain_admin',
    summary: 'Shares of the users in a group with the sequencer `drf`, and why whose session is next.',
    params: named,
    reply: FairShare,
  },
  getAccessMatrix: {
    method: 'GET',
    path: '/api/v1/resource-group-access',
    access: 'superadmin',
    summary: 'Who may use which resource groups: all grants, with all domains and projects. Superadmins always may.',
    reply: AccessMatrix,
  },
  listResourceGroupAccess: {
    method: 'GET',
    path: '/api/v1/resource-groups/:name/access',
    access: 'superadmin',
    summary: 'List the domains, groups and users that may use a resource group. Superadmins always may.',
    params: named,
    reply: z.object({ items: z.array(ResourceGroupAccess) }),
  },
  grantResourceGroupAccess: {
    method: 'POST',
    path: '/api/v1/resource-groups/:name/access',
    access: 'superadmin',
    summary: 'Allow a domain, a group or a user to use a resource group. Safe to repeat.',
    params: named,
    body: ResourceGroupAccessChange,
    reply: z.object({ items: z.array(ResourceGroupAccess) }),
  },
  withdrawResourceGroupAccess: {
    method: 'DELETE',
    path: '/api/v1/resource-groups/:name/access',
    access: 'superadmin',
    summary: 'Withdraw the access. Running sessions continue; waiting ones keep waiting. Safe to repeat.',
    params: named,
    query: ResourceGroupAccessChange,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
