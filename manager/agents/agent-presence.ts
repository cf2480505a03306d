import { type AgentId } from '#manager/contract'
import { type AgentListener } from '../agent-link/listener.ts'
import { type AgentReads } from '../agent-link/reads.ts'
import { isStarting } from '../sessions/transition.ts'
import { lockAgent, setAgent } from '../store/agents/agents.ts'
import { writeHostEvent } from '../store/operation/webhook-events.ts'
import { type ActingDeps } from './act-on-report.ts'
import { type AgentMemories, type AgentMemory } from './agent-memory.ts'

export interface AgentPresenceDeps extends Pick<
  ActingDeps,
  'store' | 'events' | 'changes' | 'lifecycle' | 'links' | 'onAgentChanged' | 'log'
> {
  readonly reads: Pick<AgentReads, 'sessionsOn' | 'touchSessionsOn'>
  readonly memories: Pick<AgentMemories, 'forget' | 'ready'>
  /** Notifies clients that the resources have changed. */
  readonly publishResources: () => void
}

/** Consequences of an agent that connects or disconnects: work on it is resumed, clients learn whether its sessions are reachable. */
export interface AgentPresence extends Pick<AgentListener, 'connected' | 'disconnected' | 'lost'> {
  /** Marks the agent ready for work, and resumes work left unfinished when it, or the manager, went away. */
  becomeReady(agentId: AgentId, memory: Pick<AgentMemory, 'ready'>): Promise<void>
  /** Marks the agent as not ready, because its engine does not answer: it gets no work. */
  becomeUnready(agentId: AgentId, memory: Pick<AgentMemory, 'ready'>): Promise<void>
  /**
   * Resumes, on every ready agent, work that another manager may have left unfinished. Called when this manager takes
   * over a turn (lease), or may have missed messages of other managers.
   */
  takeOver(): Promise<void>
}

export function createAgentPresence(deps: AgentPresenceDeps): AgentPresence {
  const { store, events, changes, lifecycle, links, reads, memories, onAgentChanged, publishResources, log } = deps

  async function takeUpWork(agentId: AgentId): Promise<void> {
    for (const { sessionId, status } of await reads.sessionsOn(agentId)) {
      if (isStarting(status)) lifecycle.start(sessionId)
      else if (status === 'TERMINATING') lifecycle.finishTermination(sessionId)
    }
  }

  /** Sends hints for the agent's sessions: clients show whether a session is reachable. */
  async function touchSessionsOn(agentId: AgentId): Promise<void> {
    changes.hint(await reads.touchSessionsOn(agentId))
  }

  return {
    async becomeReady(agentId, memory) {
      memory.ready = true
      await takeUpWork(agentId)
      await touchSessionsOn(agentId)
      publishResources()
      onAgentChanged()
    },
    async becomeUnready(agentId, memory) {
      memory.ready = false
      await touchSessionsOn(agentId)
    },
    async takeOver() {
      for (const agentId of memories.ready()) await takeUpWork(agentId)
    },
    connected(agentId) {
      // Start with empty memory: reports of an earlier connection prove nothing about this one.
      memories.forget(agentId)
      return Promise.resolve()
    },
    async disconnected(agentId) {
      memories.forget(agentId)
      onAgentChanged()
      await touchSessionsOn(agentId)
    },
    async lost(agentId) {
      memories.forget(agentId)
      if (await links.isElsewhere(agentId)) return
      const agent = await store.transaction(async trx => {
        const before = await lockAgent(trx, agentId)
        if (before?.status === 'CONNECTED') await writeHostEvent(trx, { event: 'host.lost', host: before.name })
        return setAgent(trx, agentId, { status: 'LOST' })
      })
      if (!agent) return
      log.warn({ agentId, name: agent.name }, 'agent lost')
      events.publish({ topic: 'agent', id: agentId, version: agent.row_version }, 'superadmins')
      publishResources()
      await touchSessionsOn(agentId)
      onAgentChanged()
    },
  }
}
