import { type FastifyRequest } from 'fastify'
import { type Removed } from '#manager/contract'
import { type Domains } from '../../users/domains.ts'
import { type Groups } from '../../users/groups.ts'
import { type Handlers } from '../handlers.ts'

type DomainRoutes = 'listDomains' | 'createDomain' | 'updateDomain' | 'deleteDomain'
type GroupRoutes = 'listGroups' | 'createGroup' | 'updateGroup' | 'deleteGroup' | 'addGroupMember' | 'removeGroupMember'

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
    deleteDomain: async ({ request }, { params, query }) => told(request, await domains.remove(params.name, query)),
    listGroups: ({ caller }, { query }) => groups.list(caller, query),
    createGroup: ({ caller }, { body }) => groups.create(caller, body),
    updateGroup: ({ caller }, { params, body }) => groups.update(caller, params.id, body),
    deleteGroup: async ({ caller, request }, { params, query }) =>
      told(request, await groups.remove(caller, params.id, query)),
    addGroupMember: ({ caller }, { params }) => groups.addMember(caller, params.id, params.userId),
    removeGroupMember: ({ caller }, { params }) => groups.removeMember(caller, params.id, params.userId),
  }
}

/** Records in the audit log the name of the deleted object, which is unknown afterwards. */
function told(request: FastifyRequest, removed: Removed): Removed {
  request.outcome = { ...request.outcome, told: { ...removed } }
  return removed
}
