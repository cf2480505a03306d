import { type AgentId, AppError, because } from '#manager/contract'

/** Errors for rows that are missing, or that the caller may not see. */

export function noSuchAgent(agentId: AgentId): AppError {
  return new AppError('agent_not_found', { agentId, ...because('agent_unknown', { agent: agentId }) })
}

export function noSuchDomain(name: string, options?: ErrorOptions): AppError {
  return new AppError('domain_not_found', { name, ...because('domain_unknown', { domain: name }) }, options)
}

export function noSuchPolicy(name: string, options?: ErrorOptions): AppError {
  return new AppError('resource_policy_not_found', { name, ...because('policy_unknown', { policy: name }) }, options)
}

export function noSuchResourceGroup(name: string): AppError {
  return new AppError('resource_group_not_found', { name, ...because('resource_group_unknown', { group: name }) })
}
