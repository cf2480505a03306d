import { type RawBuilder, sql } from 'kysely'
import { type UsageReportQuery } from '#manager/contract'
import { type Db } from '../schema.ts'
import { HELD_COLUMNS, HELD_PARTS } from './held-parts.ts'

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

/** Key and name of a row, by dimension. All kernels of a session run on one agent. */
const DIMENSIONS: Readonly<
  Record<UsageReportQuery['by'], { readonly key: RawBuilder<unknown>; readonly name: RawBuilder<unknown> }>
> = {
  user: { key: sql`s.owner_id::text`, name: sql`(select email from users where users.id = s.owner_id)` },
  project: {
    key: sql`s.group_id::text`,
    name: sql`(select domain || '/' || name from groups where groups.id = s.group_id)`,
  },
  domain: { key: sql`s.domain`, name: sql`s.domain` },
  image: { key: sql`s.image`, name: sql`s.image` },
  agent: {
    key: sql`(select k.agent_id::text from kernels k where k.session_id = s.id and k.agent_id is not null limit 1)`,
    name: sql`(select a.name from kernels k join agents a on a.id = k.agent_id where k.session_id = s.id limit 1)`,
  },
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
      select coalesce(${key}, '') as key, coalesce(${name}, '') as name, ${HELD_COLUMNS}
      from ${HELD_PARTS}
      where s.started_at is not null and s.started_at < ${to} and (s.ended_at is null or s.ended_at > ${from})
        and ${domain === undefined ? sql`true` : sql`s.domain = ${domain}`}
    ), parts as (
      select ran.*, greatest(extract(epoch from least(ended_at, ${to}) - greatest(started_at, ${from}))::float8, 0) as held,
        greatest(extract(epoch from ended_at - started_at)::float8, 1) as whole
      from ran
    )
    select key, max(name) as name, count(distinct id)::int as sessions,
      coalesce(sum(cores * held), 0) as cpu_seconds,
      coalesce(sum(mem * held), 0) as mem_byte_seconds,
      coalesce(sum(gpus * held), 0) as gpu_seconds,
      coalesce(sum(used * held / whole), 0) as cpu_used_seconds,
      coalesce(sum(cores * held) filter (where used is not null), 0) as cpu_measured_seconds
    from parts group by key order by gpu_seconds desc, cpu_seconds desc, key limit ${MOST_ROWS}`.execute(db)
  return rows
}
