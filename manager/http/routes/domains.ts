import { type Domains } from '../../users/domains.ts'
import { type Groups } from '../../users/groups.ts'
import { type Handlers } from '../handlers.ts'

type DomainRoutes = 'listDomains' | 'createDomain' | 'updateDomain'
type GroupRoutes = 'listGroups' | 'createGroup' | 'updateGroup' | 'addGroupMember' | 'removeGroupMember'

export function createDomainRoutes({
  domains,
  groups,
}: {
  domains: Domains
  groups: Groups
}): Pick<Handlers, DomainRoutes | GroupRoutes> {
  return {
    listDomains: async ({ caller }) => ({ items: await domains.list(caller) }),
    createDomain: (_context, { body }) => domains.create(body),
    updateDomain: ({ caller }, { params, body }) => domains.update(caller, params.name, body),
    listGroups: async ({ caller }, { query }) => ({ items: await groups.list(caller, query) }),
    createGroup: ({ caller }, { body }) => groups.create(caller, body),
    updateGroup: ({ caller }, { params, body }) => groups.update(caller, params.id, body),
    addGroupMember: ({ caller }, { params }) => groups.addMember(caller, params.id, params.userId),
    removeGroupMember: ({ caller }, { params }) => groups.removeMember(caller, params.id, params.userId),
  }
}
