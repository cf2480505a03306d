import { sql } from 'kysely'
import {
  type AgentId,
  type KernelId,
  type ResourceSlots,
  type SessionId,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { type Db } from '../schema.ts'

export interface KernelOwner {
  readonly sessionId: SessionId
  readonly ownerId: UserId
  readonly domain: string
  readonly agentId: AgentId | null
  readonly role: string
  /** Status of the session. */
  readonly status: SessionStatus
  /** Resources of the kernel, in base units. */
  readonly slots: ResourceSlots
  /** All kernels of the session. */
  readonly siblings: readonly KernelId[]
}

export async function findSessionOfKernel(db: Db, kernelId: KernelId): Promise<KernelOwner | undefined> {
  const row = await db
    .selectFrom('kernels')
    .innerJoin('sessions', 'sessions.id', 'kernels.session_id')
    .select([
      'sessions.id',
      'sessions.owner_id',
      'sessions.domain',
      'sessions.status',
      'kernels.agent_id',
      'kernels.role',
      'kernels.slots',
    ])
    .select(sql<KernelId[]>`array(select o.id from kernels o where o.session_id = sessions.id)`.as('siblings'))
    .where('kernels.id', '=', kernelId)
    .executeTakeFirst()
  if (!row) return undefined
  const { id: sessionId, owner_id: ownerId, domain, agent_id: agentId, role, status, slots, siblings } = row
  return { sessionId, ownerId, domain, agentId, role, status, slots, siblings }
}
