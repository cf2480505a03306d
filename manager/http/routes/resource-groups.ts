import { type ResourceGroupAccesses } from '../../quotas/access.ts'
import { type ResourceGroups } from '../../quotas/resource-groups.ts'
import { type Handlers } from '../handlers.ts'

type ResourceGroupRoutes =
  | 'listResourceGroups'
  | 'createResourceGroup'
  | 'updateResourceGroup'
  | 'deleteResourceGroup'
  | 'getAccessMatrix'
  | 'listResourceGroupAccess'
  | 'grantResourceGroupAccess'
  | 'withdrawResourceGroupAccess'

export function createResourceGroupRoutes({
  groups,
  accesses,
}: {
  groups: ResourceGroups
  accesses: ResourceGroupAccesses
}): Pick<Handlers, ResourceGroupRoutes> {
  return {
    listResourceGroups: async ({ caller }) => ({ items: await groups.list(caller) }),
    createResourceGroup: ({ caller }, { body }) => groups.create(body, caller.domain),
    updateResourceGroup: (_context, { params, body }) => groups.update(params.name, body),
    deleteResourceGroup: (_context, { params }) => groups.remove(params.name),
    getAccessMatrix: () => accesses.matrix(),
    listResourceGroupAccess: async (_context, { params }) => ({ items: await accesses.list(params.name) }),
    grantResourceGroupAccess: async (_context, { params, body }) => ({
      items: await accesses.grant(params.name, body),
    }),
    withdrawResourceGroupAccess: (_context, { params, query }) => accesses.withdraw(params.name, query),
  }
}
