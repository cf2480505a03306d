import { z } from 'zod'
import { PolicyHolder, ResourcePolicy, ResourcePolicyChange, ResourcePolicySpec } from '../quotas/policies.ts'
import { ResourcePolicyName } from '../quotas/policy-name.ts'
import { type RouteSpec } from './route-spec.ts'

const named = z.object({ name: ResourcePolicyName })

/** Resource policies. */
export const POLICY_ROUTES = {
  listResourcePolicies: {
    method: 'GET',
    path: '/api/v1/resource-policies',
    access: 'domain_admin',
    summary: 'List resource policies, with the numbers of their users and keypairs.',
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
    summary:
      'Change a resource policy. Missing fields stay as they are. Running sessions continue; waiting ones are checked again.',
    params: named,
    body: ResourcePolicyChange,
    reply: ResourcePolicy,
  },
  assignResourcePolicy: {
    method: 'POST',
    path: '/api/v1/resource-policies/:name/assign',
    access: 'superadmin',
    summary: 'Assign this policy to a user or a keypair, in place of the current one.',
    params: named,
    body: PolicyHolder,
    status: 204,
    reply: z.void(),
  },
  deleteResourcePolicy: {
    method: 'DELETE',
    path: '/api/v1/resource-policies/:name',
    access: 'superadmin',
    summary: 'Delete a resource policy that no user and no keypair has.',
    params: named,
    status: 204,
    reply: z.void(),
  },
} as const satisfies Record<string, RouteSpec>
