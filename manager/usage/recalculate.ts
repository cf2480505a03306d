import { because, failureText, type Finding, type Recalculation, toldBy } from '#manager/contract'
import { type KernelLabel } from '#agent/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Reports } from '../agents/reports.ts'
import { type Log } from '../log.ts'
import { type AgentRow, listAgents } from '../store/agents/agents.ts'
import { type Store } from '../store/open-store.ts'
import { lockGroupOfAgent } from '../store/agents/agent-groups.ts'
import { listHolding, listHoldingForNobody, releaseHeldForNobody, writeAmounts } from '../store/quotas/usage.ts'
import { recountAll } from './daily-sums.ts'
import { findDifferences, findOtherAmounts } from './compare.ts'

export interface RecalculateDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly reports: Pick<Reports, 'takeUp' | 'isOurs'>
  /** Called when resources were released, so that waiting sessions may start. */
  readonly onChanged: () => void
  readonly log: Log
}

const AGENT_TIMEOUT_MS = 30_000

/**
 * Compares the rows of kernels, from which all usage is derived, with the containers that every connected agent has now, and repairs the
 * rows: sessions through their life cycle, amounts from the container's signed label. If usage is correct, as it always should be, nothing
 * is changed. An agent that is connected only to another manager is asked to connect to this one. Agents that cannot be asked are listed in
 * the reply and not changed. Sums of usage by day are recalculated.
 */
export async function recalculate(deps: RecalculateDeps, actor: string): Promise<Recalculation> {
  const { store, log, onChanged } = deps
  const findings = await releaseAll(store)
  const compared = await Promise.all((await listAgents(store.db)).map(agent => compareAgent(deps, agent)))
  const all = [...findings, ...compared.flatMap(one => one.findings)]
  for (const finding of all)
    log.warn({ audit: true, actor, ...finding }, 'recorded usage differed from reality; repaired')
  if (all.length > 0) onChanged()
  return { findings: all, agents: compared.map(({ agent }) => agent), correctedDays: await recountAll(store, log) }
}

/** Releases resources held by rows of sessions that do not run; no agent is needed for this. */
async function releaseAll(store: Store): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { kernelId, sessionId, sessionName, agentId } of await listHoldingForNobody(store.db)) {
    if (!(await store.transaction(trx => releaseHeldForNobody(trx, { kernelId, sessionId })))) continue
    const told = toldBy(because('resources_of_ended_session', { session: sessionName }))
    findings.push({ kind: 'kernel_of_ended_session', ...told, agentId, sessionId, kernelId })
  }
  return findings
}

async function compareAgent(
  { store, agents, reports, log }: RecalculateDeps,
  { id: agentId, name }: AgentRow,
): Promise<{ agent: Recalculation['agents'][number]; findings: Finding[] }> {
  // Read the rows before asking the agent: then the answer contains each container of these rows that still runs.
  const before = await listHolding(store.db, agentId)
  const reply = await agents
    .request(agentId, 'list_kernels', {}, { timeoutMs: AGENT_TIMEOUT_MS })
    .catch((error: unknown) => {
      log.warn({ err: error, agentId }, 'agent could not say what it runs')
      const { code: _, message: why, ...whyBy } = failureText(error)
      return { why, whyBy }
    })
  if ('why' in reply) return { agent: { agentId, name, compared: false, ...reply, containers: 0 }, findings: [] }
  const running = new Set(before.filter(({ status }) => status === 'RUNNING').map(({ kernelId }) => kernelId))
  const actions = await reports.takeUp(agentId, reply.kernels, running)
  const after = new Set((await listHolding(store.db, agentId)).map(({ kernelId }) => kernelId))
  const findings = findDifferences({ agentId, agentName: name, before, reported: reply.kernels, actions, after })
  const isOurs = (label: KernelLabel) => reports.isOurs(agentId, label)
  for (const { sessionName, ...container } of findOtherAmounts(agentId, before, reply.kernels, isOurs)) {
    const { sessionId, kernelId } = container
    const written = await store.transaction(async trx => {
      await lockGroupOfAgent(trx, agentId)
      return writeAmounts(trx, container)
    })
    const told = toldBy(because('record_of_other_amounts', { session: sessionName }))
    if (written) findings.push({ kind: 'other_amounts', ...told, agentId, sessionId, kernelId })
  }
  const containers = reply.kernels.filter(({ state }) => state.state === 'running').length
  return { agent: { agentId, name, compared: true, why: null, containers }, findings }
}
