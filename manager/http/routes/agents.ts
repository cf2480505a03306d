import { type HostSetup } from '../../agents/host-setup.ts'
import { type AgentService } from '../../agents/service.ts'
import { type AgentRemovals } from '../../agents/removals.ts'
import { type AgentUpdates } from '../../agents/updates.ts'
import { type UnknownContainers } from '../../agents/unknown-containers.ts'
import { type Handlers } from '../handlers.ts'

type AgentRoutes =
  | 'listAgents'
  | 'listAgentSummaries'
  | 'getAgent'
  | 'createJoinToken'
  | 'getJoinToken'
  | 'listJoinTokens'
  | 'withdrawJoinToken'
  | 'updateAgent'
  | 'updateAgentProgram'
  | 'removeAgent'
  | 'cancelAgentRemoval'
  | 'setDeviceMode'
  | 'forgetAgent'
  | 'listUnknownContainers'
  | 'decideUnknownContainer'

export function createAgentRoutes({
  agents,
  updates,
  removals,
  unknown,
  setup,
}: {
  agents: AgentService
  updates: Pick<AgentUpdates, 'want'>
  removals: Pick<AgentRemovals, 'begin' | 'cancel'>
  setup: Pick<HostSetup, 'prepare'>
  unknown: UnknownContainers
}): Pick<Handlers, AgentRoutes> {
  return {
    listAgents: async () => ({ items: await agents.list() }),
    listAgentSummaries: (_context, { query }) => agents.summaries(query),
    getAgent: (_context, { params }) => agents.get(params.id),
    createJoinToken({ caller }, { body: { prepare, ...wanted } }) {
      if (prepare) setup.prepare()
      return agents.createJoinToken({ ...wanted, madeBy: caller })
    },
    getJoinToken: (_context, { params }) => agents.joinToken(params.id),
    listJoinTokens: () => agents.openJoinTokens(),
    withdrawJoinToken: (_context, { params }) => agents.withdrawJoinToken(params.id),
    updateAgent: (_context, { params, body }) => agents.change(params.id, body),
    async updateAgentProgram(_context, { params }) {
      await updates.want(params.id)
      return agents.get(params.id)
    },
    async removeAgent({ caller }, { params, body }) {
      await removals.begin(params.id, body, caller.email)
      return agents.get(params.id)
    },
    async cancelAgentRemoval(_context, { params }) {
      await removals.cancel(params.id)
      return agents.get(params.id)
    },
    setDeviceMode: (_context, { params, body }) => agents.setDeviceMode(params.id, params.uuid, body.mode),
    listUnknownContainers: async (_context, { params }) => ({ items: await unknown.list(params.id) }),
    decideUnknownContainer: (_context, { params, body }) => unknown.decide(params.id, params.kernelId, body.action),
    forgetAgent: ({ caller }, { params }) => agents.forget(params.id, caller.email),
  }
}
