import { z } from 'zod'
import { ResourceGroup, ResourceGroupChange, ResourceGroupName, ResourceGroupSpec } from '../resource-groups.ts'
import { type RouteSpec } from './route-spec.ts'

/** Resource groups. */
export const RESOURCE_GROUP_ROUTES = {
  listResourceGroups: {
    method: 'GET',
    path: '/api/v1/resource-groups',
    access: 'superadmin',
    summary: 'Resource groups with their settings.',
    reply: z.object({ items: z.array(ResourceGroup) }),
  },
  createResourceGroup: {
    method: 'POST',
    path: '/api/v1/resource-groups',
    access: 'superadmin',
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
    params: z.object({ name: ResourceGroupName }),
    body: ResourceGroupChange,
    reply: ResourceGroup,
  },
} as const satisfies Record<string, RouteSpec>
