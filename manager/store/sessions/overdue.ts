import { sql } from 'kysely'
import { type AgentId, type KernelId, type Reason, type SessionId, type SessionStatus } from '#manager/contract'
import { type Db } from '../schema.ts'

/** A session in a transitional status, with how long that has lasted by the database's clock. */
export interface Overdue {
  /** The database's clock at the time of reading. */
  readonly nowMs: number
  readonly sessionId: SessionId
  readonly kernelIds: readonly KernelId[]
  readonly status: SessionStatus
  readonly agentId: AgentId | null
  readonly attempt: number
  readonly ageMs: number
  /**
   * True if the agent has given up this attempt on its own: every `start_by` has passed, and no kernel of a session with several kernels
   * runs. (An agent keeps running kernels while others of their session start.)
   */
  readonly startByPassed: boolean
  readonly reason: Reason
}

export async function listTransitional(db: Db, minAgeMs: number): Promise<Overdue[]> {
  const { rows } = await sql<Overdue>`
    select s.id as "sessionId", array(select o.id from kernels o where o.session_id = s.id) as "kernelIds", s.status, k.agent_id as "agentId", k.attempt, s.reason,
           (extract(epoch from now()) * 1000)::bigint as "nowMs",
           (extract(epoch from now() - s.status_at) * 1000)::bigint as "ageMs",
           not exists (
             select 1 from kernels o
             where o.session_id = s.id and (o.start_by >= now() or (s.cluster_size > 1 and o.status = 'RUNNING'))
           ) as "startByPassed"
    from sessions s join kernels k on k.session_id = s.id and k.role = 'main1'
    where s.status in ('SCHEDULED', 'PREPARING', 'PULLING', 'TERMINATING')
      and s.status_at <= now() - ${minAgeMs} * interval '1 millisecond'`.execute(db)
  return rows
}
