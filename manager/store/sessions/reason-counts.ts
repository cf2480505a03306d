import { type RawBuilder, sql } from 'kysely'
import { type Reason, type ReasonCode, type SessionId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { hasFailed } from './session-list.ts'

export interface ReasonCountRow {
  readonly code: ReasonCode
  readonly count: number
  readonly id: SessionId
  readonly name: string
  readonly reason: Reason
}

const WHICH = {
  waiting: sql`sessions.status = 'PENDING'`,
  failed: sql`${hasFailed} and sessions.ended_at > now() - interval '7 days'`,
} as const satisfies Record<string, RawBuilder<unknown>>

/** Number of sessions by the code of their reason, the most frequent first, each with its newest session. Ids sort by age. */
export async function countReasons(
  db: Db,
  which: keyof typeof WHICH,
  domain: string | undefined,
): Promise<ReasonCountRow[]> {
  const { rows } = await sql<ReasonCountRow>`
    with counted as (
      select sessions.reason->>'code' as code, count(*)::int as count, max(sessions.id::text)::uuid as id
      from sessions where ${WHICH[which]} and ${domain === undefined ? sql`true` : sql`sessions.domain = ${domain}`} group by 1
    )
    select counted.code, counted.count, s.id, s.name, s.reason from counted join sessions s using (id)
    order by counted.count desc, counted.code`.execute(db)
  return rows
}
