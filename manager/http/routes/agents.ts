import { type AgentService } from '../../agents/service.ts'
import { type Handlers } from '../handlers.ts'

type AgentRoutes = 'listAgents' | 'createJoinToken' | 'updateAgent' | 'setDeviceMode' | 'forgetAgent'

export function createAgentRoutes({ agents }: { agents: AgentService }): Pick<Handlers, AgentRoutes> {
  return {
    listAgents: async () => ({ items: await agents.list() }),
    createJoinToken: ({ caller }, { body }) => agents.createJoinToken({ ...body, createdBy: caller.userId }),
    updateAgent: (_context, { params, body }) => agents.setSchedulable(params.id, body.schedulable),
    setDeviceMode: (_context, { params, body }) => agents.setDeviceMode(params.id, params.uuid, body.mode),
    forgetAgent: ({ caller }, { params }) => agents.forget(params.id, caller.email),
  }
}
