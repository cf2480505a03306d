import { type RawBuilder, sql } from 'kysely'
import { type LimitHolder, type LimitUser, OCCUPYING_STATUSES, type ResourceSlots } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface LimitUserRow {
  readonly kind: LimitUser['kind']
  /** User id or access key. */
  readonly id: string
  /** E-mail address or access key. */
  readonly name: string
  readonly held: ResourceSlots
  readonly sessions: number
}

export interface LimitUserPage {
  readonly by: LimitHolder
  readonly limits: ResourceSlots
  readonly maxSessions: number | null
  /** Only accounts of this domain, without superadmins; undefined: all. */
  readonly visibleIn: string | undefined
  readonly limit: number
  readonly offset: number
}

/** Users and keypairs that use any of their limits, ordered by the largest used fraction of any limit. */
export async function listLimitUsers(db: Db, page: LimitUserPage): Promise<{ rows: LimitUserRow[]; total: number }> {
  const { limits, maxSessions, limit, offset } = page
  const { rows } = await sql<{ total: number; items: LimitUserRow[] }>`
    with counted as materialized (${countedFor(page)}),
    sums as (
      select kind, id, name, v.key as slot, sum(v.value::bigint)::bigint as amount
      from counted, jsonb_each_text(slots) v group by kind, id, name, v.key
    ), held as (
      select kind, id, name, jsonb_object_agg(slot, amount) as held,
        coalesce(max(amount::float8 / nullif((${JSON.stringify(limits)}::jsonb->>slot)::float8, 0)), 0) as part
      from sums group by kind, id, name
    ), users as (
      select held.*, c.sessions, greatest(part, coalesce(c.sessions::float8 / nullif(${maxSessions}::int, 0), 0)) as most
      from held join (select kind, id, count(distinct session_id)::int as sessions from counted group by kind, id) c
        using (kind, id)
    )
    select (select count(*)::int from users) as total,
      coalesce((select jsonb_agg(to_jsonb(page) - 'most' - 'part' order by page.most desc, page.sessions desc, page.name) from (
        select * from users order by most desc, sessions desc, name limit ${limit} offset ${offset}) page), '[]') as items`.execute(
    db,
  )
  return { rows: rows[0]?.items ?? [], total: rows[0]?.total ?? 0 }
}

/** Selects a row for each occupying kernel and each account that it counts for. */
function countedFor({ by, visibleIn }: LimitUserPage): RawBuilder<unknown> {
  const visible = visibleIn === undefined ? sql`true` : sql`(u.domain = ${visibleIn} and u.role <> 'superadmin')`
  const occupying = sql`kernels k join sessions s on s.id = k.session_id`
  const isHeld = sql`k.status in (${sql.join(OCCUPYING_STATUSES)}) and ${visible}`
  const ofUsers = (condition: RawBuilder<unknown>) => sql`
    select 'user' as kind, u.id::text as id, u.email as name, s.id as session_id, k.slots
    from ${occupying} join users u on u.id = s.owner_id where ${isHeld} and ${condition}`
  if ('groupId' in by) return ofUsers(sql`s.group_id = ${by.groupId}::uuid`)
  if ('domain' in by) return ofUsers(sql`s.domain = ${by.domain}`)
  return sql`${ofUsers(sql`u.resource_policy = ${by.policy}`)}
    union all
    select 'keypair', p.access_key, p.access_key, s.id, k.slots
    from ${occupying} join keypairs p on p.access_key = s.keypair join users u on u.id = p.user_id
    where ${isHeld} and p.resource_policy = ${by.policy}`
}
