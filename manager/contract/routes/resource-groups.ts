import { z } from 'zod'
import {
  ResourceGroup,
  ResourceGroupAccess,
  ResourceGroupAccessChange,
  ResourceGroupChange,
  ResourceGroupName,
  ResourceGroupSpec,
} from '../resource-groups.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ name: ResourceGroupName })

/** Resource groups. */
export const RESOURCE_GROUP_ROUTES = {
  listResourceGroups: {
    method: 'GET',
    path: '/api/v1/resource-groups',
    access: 'user',
    summary: 'Resource groups with their settings: those that the caller may use, a superadmin all.',
    reply: z.object({ items: z.array(ResourceGroup) }),
  },
  createResourceGroup: {
    method: 'POST',
    path: '/api/v1/resource-groups',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Create a resource group; agents come into it with a join token of the group.',
    body: ResourceGroupSpec,
    status: 201,
    reply: ResourceGroup,
  },
  updateResourceGroup: {
    method: 'PATCH',
    path: '/api/v1/resource-groups/:name',
    access: 'superadmin',
    summary: 'Change settings of a resource group; what is left out stays.',
    params: named,
    body: ResourceGroupChange,
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
  listResourceGroupAccess: {
    method: 'GET',
    path: '/api/v1/resource-groups/:name/access',
    access: 'superadmin',
    summary: 'Domains, groups and users that may use a resource group. Superadmins always may.',
    params: named,
    reply: z.object({ items: z.array(ResourceGroupAccess) }),
  },
  grantResourceGroupAccess: {
    method: 'POST',
    path: '/api/v1/resource-groups/:name/access',
    access: 'superadmin',
    summary: 'Let a domain, a group or a user use a resource group. Safe to repeat.',
    params: named,
    body: ResourceGroupAccessChange,
    reply: z.object({ items: z.array(ResourceGroupAccess) }),
  },
  withdrawResourceGroupAccess: {
    method: 'DELETE',
    path: '/api/v1/resource-groups/:name/access',
    access: 'superadmin',
    summary: 'Take it away again. What runs goes on; what waits stays waiting. Safe to repeat.',
    params: named,
    query: ResourceGroupAccessChange,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
