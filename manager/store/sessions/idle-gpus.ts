import { sql } from 'kysely'
import { type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface IdleOwnerRow {
  readonly owner_id: UserId
  readonly email: string
  readonly gpus: number
  readonly gpu_hours: number
  readonly sessions: readonly {
    readonly id: SessionId
    readonly name: string
    readonly image: string
    readonly size: number
    readonly gpus: number
    /** Milliseconds since the epoch. */
    readonly since: number
    readonly hours: number
  }[]
}

export interface IdleTotalsRow {
  readonly owners: number
  readonly sessions: number
  readonly gpus: number
  readonly gpu_hours: number
}

/**
 * Owners of running sessions whose GPUs have all been idle for a while, the most GPU-hours first. A session without statistics for the last
 * minutes is left out: its agent is not connected, so its use is unknown. @param query `domain`: only sessions of this domain; `minutes`:
 * minimum idle time
 */
export async function listIdleOwners(
  db: Db,
  query: {
    readonly domain: string | undefined
    readonly minutes: number
    readonly limit: number
    readonly offset: number
  },
): Promise<{ rows: IdleOwnerRow[]; totals: IdleTotalsRow }> {
  const { domain, minutes, limit, offset } = query
  const { rows } = await sql<{ owners: IdleOwnerRow[]; totals: IdleTotalsRow }>`
    with found as (
      select s.id, s.name, s.image, s.cluster_size, s.owner_id, greatest(s.gpu_idle_since, s.started_at) as since,
        (coalesce((s.requested->>'cuda.device')::float8, 0) + coalesce((s.requested->>'cuda.shares')::float8, 0) / 100)
          * s.cluster_size as gpus
      from sessions s
      where s.status = 'RUNNING' and s.gpu_idle_since is not null
        and ${domain === undefined ? sql`true` : sql`s.domain = ${domain}`}
        and exists (select from session_stats_minutes m where m.session_id = s.id and m.minute > now() - interval '5 minutes')
    ), idle as materialized (
      select found.*, gpus * date_part('epoch', now() - since) / 3600 as hours from found
      where since <= now() - make_interval(mins => ${minutes})
    ), owners as (
      select owner_id, sum(gpus) as gpus, sum(hours) as gpu_hours,
        jsonb_agg(jsonb_build_object('id', id, 'name', name, 'image', image, 'size', cluster_size, 'gpus', gpus,
          'since', (date_part('epoch', since) * 1000)::bigint, 'hours', hours) order by hours desc, id) as sessions
      from idle group by owner_id order by gpu_hours desc, owner_id limit ${limit} offset ${offset}
    )
    select
      coalesce((select jsonb_agg(to_jsonb(owners) || jsonb_build_object('email', users.email) order by gpu_hours desc, owner_id)
        from owners join users on users.id = owners.owner_id), '[]') as owners,
      (select jsonb_build_object('owners', count(distinct owner_id), 'sessions', count(*), 'gpus', coalesce(sum(gpus), 0),
        'gpu_hours', coalesce(sum(hours), 0)) from idle) as totals`.execute(db)
  const [row] = rows
  if (!row) throw new Error('a query of totals has a row')
  return { rows: row.owners, totals: row.totals }
}
