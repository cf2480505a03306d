import { type RawBuilder, sql } from 'kysely'
import { type Reason, type ReasonCode, type SessionId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface ReasonCountRow {
  readonly code: ReasonCode
  readonly count: number
  readonly id: SessionId
  readonly name: string
  readonly reason: Reason
}

const WHICH = {
  waiting: sql`s.status = 'PENDING'`,
  failed: sql`s.status = 'ERROR' and s.ended_at > now() - interval '7 days'`,
} as const satisfies Record<string, RawBuilder<unknown>>

/** Sessions by the code of their reason, the most frequent first, each with the newest of them. Ids sort by age. */
export async function countReasons(
  db: Db,
  which: keyof typeof WHICH,
  domain: string | undefined,
): Promise<ReasonCountRow[]> {
  const { rows } = await sql<ReasonCountRow>`
    with counted as (
      select s.reason->>'code' as code, count(*)::int as count, max(s.id::text)::uuid as id
      from sessions s where ${WHICH[which]} and ${domain === undefined ? sql`true` : sql`s.domain = ${domain}`} group by 1
    )
    select counted.code, counted.count, s.id, s.name, s.reason from counted join sessions s using (id)
    order by counted.count desc, counted.code`.execute(db)
  return rows
}
