import { type AgentService } from '../../agents/service.ts'
import { type Handlers } from '../handlers.ts'

type AgentRoutes = 'listAgents' | 'createJoinToken' | 'updateAgent' | 'forgetAgent'

export function createAgentRoutes({ agents }: { agents: AgentService }): Pick<Handlers, AgentRoutes> {
  return {
    listAgents: async () => ({ items: await agents.list() }),
    createJoinToken: ({ caller }, { body }) =>
      agents.createJoinToken({ resourceGroup: body.resourceGroup, createdBy: caller.userId }),
    updateAgent: (_context, { params, body }) => agents.setSchedulable(params.id, body.schedulable),
    forgetAgent: ({ caller }, { params }) => agents.forget(params.id, caller.email),
  }
}
