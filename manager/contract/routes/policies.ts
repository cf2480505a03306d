import { z } from 'zod'
import {
  PolicyHolder,
  ResourcePolicy,
  ResourcePolicyChange,
  ResourcePolicyName,
  ResourcePolicySpec,
} from '../policies.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ name: ResourcePolicyName })

/** Resource policies. */
export const POLICY_ROUTES = {
  listResourcePolicies: {
    method: 'GET',
    path: '/api/v1/resource-policies',
    access: 'domain_admin',
    summary: 'Resource policies, and how many users and keypairs have them.',
    reply: z.object({ items: z.array(ResourcePolicy) }),
  },
  createResourcePolicy: {
    method: 'POST',
    path: '/api/v1/resource-policies',
    access: 'superadmin',
    idempotencyKey: true,
    summary: 'Create a resource policy.',
    body: ResourcePolicySpec,
    status: 201,
    reply: ResourcePolicy,
  },
  updateResourcePolicy: {
    method: 'PATCH',
    path: '/api/v1/resource-policies/:name',
    access: 'superadmin',
    summary: 'Change a resource policy; what is left out stays. What runs goes on; what waits is looked at again.',
    params: named,
    body: ResourcePolicyChange,
    reply: ResourcePolicy,
  },
  assignResourcePolicy: {
    method: 'POST',
    path: '/api/v1/resource-policies/:name/assign',
    access: 'superadmin',
    summary: 'Give a user or a keypair this policy instead of the one it has.',
    params: named,
    body: PolicyHolder,
    status: 204,
    reply: z.void(),
  },
  deleteResourcePolicy: {
    method: 'DELETE',
    path: '/api/v1/resource-policies/:name',
    access: 'superadmin',
    summary: 'Delete a resource policy that nobody has.',
    params: named,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
