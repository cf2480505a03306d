import { type AgentId, type KernelId } from '#manager/contract'
import { type AgentRow, findAgents, setLastSeen } from '../store/agents/agents.ts'
import {
  type KnownKernel,
  listKernelsToReconcile,
  listSessionsOnAgents,
  type SessionOnAgent,
} from '../store/sessions/kernels.ts'
import { type Db } from '../store/schema.ts'
import { touchSessions, type Touched } from '../store/sessions/sessions.ts'
import { together } from '../store/together.ts'

/**
 * What every agent costs when it comes, tells, and goes. A thousand of them do it at once, when a manager or a network is
 * back: they are asked for together, so that the questions of users are not number ten thousand in the row.
 */
export interface AgentReads {
  find(id: AgentId): Promise<AgentRow | undefined>
  kernels(question: { readonly agentId: AgentId; readonly kernelIds: readonly KernelId[] }): Promise<KnownKernel[]>
  sessionsOn(id: AgentId): Promise<SessionOnAgent[]>
  /** Gives all sessions that it holds a new version. */
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
