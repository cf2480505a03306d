import { type ResourceGroups } from '../../scheduler/groups.ts'
import { type Handlers } from '../handlers.ts'

type ResourceGroupRoutes = 'listResourceGroups' | 'createResourceGroup' | 'updateResourceGroup'

export function createResourceGroupRoutes({ groups }: { groups: ResourceGroups }): Pick<Handlers, ResourceGroupRoutes> {
  return {
    listResourceGroups: async () => ({ items: await groups.list() }),
    createResourceGroup: (_context, { body }) => groups.create(body),
    updateResourceGroup: (_context, { params, body }) => groups.update(params.name, body),
  }
}
