import { sql } from 'kysely'
import { type AgentId, type KernelId, type Reason, type SessionId } from '#manager/contract'
import { type Db } from './schema.ts'
import { type Touched } from './sessions.ts'

/** Of these sessions the ones that still wait; locked, in one order everywhere, until the transaction ends. */
export async function lockPending(db: Db, ids: readonly SessionId[]): Promise<Set<SessionId>> {
  const rows = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '=', 'PENDING')
    .orderBy('id')
    .forUpdate()
    .execute()
  return new Set(rows.map(row => row.id))
}

export interface PlacedSession {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly reason: Reason
}

export interface PlacedRows {
  readonly touched: readonly Touched[]
  readonly kernelOf: ReadonlyMap<SessionId, KernelId>
}

/** PENDING → SCHEDULED for all of them, each with its next attempt. The rows must be locked by `lockPending`. */
export async function markScheduled(db: Db, placed: readonly PlacedSession[]): Promise<PlacedRows> {
  const ids = placed.map(({ sessionId }) => sessionId)
  const reasons = placed.map(({ reason }) => JSON.stringify(reason))
  const sessions = await sql<Touched>`
    update sessions s
    set status = 'SCHEDULED', status_at = now(), reason = v.reason, attempt = s.attempt + 1, version = s.version + 1
    from (select unnest(${ids}::uuid[]) as id, unnest(${reasons}::text[])::jsonb as reason) v
    where s.id = v.id
    returning s.id, s.owner_id as "ownerId", s.version`.execute(db)
  const agents = placed.map(({ agentId }) => agentId)
  const kernels = await sql<{ session_id: SessionId; kernel_id: KernelId }>`
    update kernels k set status = 'SCHEDULED', agent_id = v.agent_id, attempt = s.attempt, start_by = null
    from (select unnest(${ids}::uuid[]) as id, unnest(${agents}::uuid[]) as agent_id) v join sessions s on s.id = v.id
    where k.session_id = v.id
    returning k.session_id, k.id as kernel_id`.execute(db)
  return { touched: sessions.rows, kernelOf: new Map(kernels.rows.map(row => [row.session_id, row.kernel_id])) }
}
