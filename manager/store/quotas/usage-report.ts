import { type RawBuilder, sql } from 'kysely'
import { type UsageReportQuery } from '#manager/contract'
import { type Db } from '../schema.ts'
import { HAS_RUN, HELD_COLUMNS, HELD_PARTS } from './held-parts.ts'

export interface ReportRow {
  readonly key: string
  readonly name: string
  readonly sessions: number
  /** Seconds that running sessions held a core, a byte, a GPU, times the amount. */
  readonly cpu_seconds: number
  readonly mem_byte_seconds: number
  readonly gpu_seconds: number
  /** CPU time used by sessions with figures, and the seconds of cores that these held. */
  readonly cpu_used_seconds: number
  readonly cpu_measured_seconds: number
}

const MOST_ROWS = 5_000

/** The column that rows are grouped by, and how to read the name of a group. All kernels of a session run on one agent. */
const DIMENSIONS: Readonly<
  Record<UsageReportQuery['by'], { readonly key: RawBuilder<unknown>; readonly name: RawBuilder<unknown> }>
> = {
  user: { key: sql`s.owner_id`, name: sql`(select email from users where users.id = totals.group_key)` },
  project: {
    key: sql`s.group_id`,
    name: sql`(select domain || '/' || name from groups where groups.id = totals.group_key)`,
  },
  domain: { key: sql`s.domain`, name: sql`totals.group_key` },
  image: { key: sql`s.image`, name: sql`totals.group_key` },
  agent: { key: sql`part.agent_id`, name: sql`(select name from agents where agents.id = totals.group_key)` },
}

/**
 * Total resource use of sessions between two moments. Computed from the sessions themselves, as the history is: both agree to the
 * second. Sessions without the dimension, such as a project that was deleted, are one row with an empty key.
 */
export async function readUsageReport(
  db: Db,
  report: {
    readonly by: UsageReportQuery['by']
    readonly from: Date
    readonly to: Date
    readonly domain: string | undefined
  },
): Promise<ReportRow[]> {
  const { by, from, to, domain } = report
  const { key, name } = DIMENSIONS[by]
  const { rows } = await sql<ReportRow>`
    with ran as (
      select ${key} as group_key, ${HELD_COLUMNS}
      from ${HELD_PARTS}
      where ${HAS_RUN} and part.started_at < ${to} and (s.ended_at is null or s.ended_at > ${from})
        and ${domain === undefined ? sql`true` : sql`s.domain = ${domain}`}
    ), parts as (
      select ran.*, greatest(date_part('epoch', least(ended_at, ${to}) - greatest(started_at, ${from})), 0) as held,
        greatest(date_part('epoch', ended_at - started_at), 1) as whole
      from ran
    ), totals as (
      select group_key, count(distinct id)::int as sessions,
        coalesce(sum(cores * held), 0) as cpu_seconds,
        coalesce(sum(mem * held), 0) as mem_byte_seconds,
        coalesce(sum(gpus * held), 0) as gpu_seconds,
        coalesce(sum(used * held / whole), 0) as cpu_used_seconds,
        coalesce(sum(cores * held) filter (where used is not null), 0) as cpu_measured_seconds
      from parts group by group_key order by gpu_seconds desc, cpu_seconds desc, group_key limit ${MOST_ROWS}
    )
    select totals.*, coalesce(group_key::text, '') as key, coalesce(${name}, '') as name from totals
    order by gpu_seconds desc, cpu_seconds desc, key`.execute(db)
  return rows
}
