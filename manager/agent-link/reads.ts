import { type AgentId, type KernelId } from '#manager/contract'
import { type AgentRow, findAgents, setLastSeen } from '../store/agents/agents.ts'
import {
  type KnownKernel,
  listKernelsToReconcile,
  listSessionsOnAgents,
  type SessionOnAgent,
} from '../store/sessions/kernels.ts'
import { type Db } from '../store/schema.ts'
import { touchSessions, type Touched } from '../store/sessions/touches.ts'
import { together } from '../store/together.ts'

/**
 * Batched database reads for agents that connect, report and disconnect. When a manager or a network is back, a thousand agents do so at
 * once. Without batching, queries of users would wait behind ten thousand others.
 */
export interface AgentReads {
  find(id: AgentId): Promise<AgentRow | undefined>
  kernels(question: { readonly agentId: AgentId; readonly kernelIds: readonly KernelId[] }): Promise<KnownKernel[]>
  sessionsOn(id: AgentId): Promise<SessionOnAgent[]>
  /** Gives all sessions on the agent a new version. */
  touchSessionsOn(id: AgentId): Promise<readonly Touched[]>
  seen(id: AgentId): Promise<void>
}

export function createAgentReads(db: Db): AgentReads {
  return {
    find: together(ids => findAgents(db, ids)),
    kernels: together(questions => listKernelsToReconcile(db, questions)),
    sessionsOn: together(ids => listSessionsOnAgents(db, ids)),
    touchSessionsOn: together(async ids => {
      const held = await listSessionsOnAgents(db, ids)
      const touched = await touchSessions(db, [...new Set(held.flat().map(({ sessionId }) => sessionId))])
      const byId = new Map(touched.map(one => [one.id, one]))
      return held.map(sessions => sessions.flatMap(({ sessionId }) => byId.get(sessionId) ?? []))
    }),
    seen: together(async ids => {
      await setLastSeen(db, ids)
      return ids.map(() => undefined)
    }),
  }
}
