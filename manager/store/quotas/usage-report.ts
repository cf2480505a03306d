import { type RawBuilder, sql } from 'kysely'
import { type UsageOrder, type UsageReportQuery } from '#manager/contract'
import { type Db } from '../schema.ts'
import {
  HAS_RUN,
  HELD_COLUMNS,
  HELD_PARTS,
  MEASURED,
  MEASURED_SUMS,
  type MeasuredSums,
  PARTS,
  ranWithin,
} from './held-parts.ts'

export interface ReportRow extends MeasuredSums {
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

/** Over all rows of a report, also those of other pages. */
export interface ReportTotals {
  readonly rows: number
  readonly cpu_seconds: number
  readonly mem_byte_seconds: number
  readonly gpu_seconds: number
  readonly gpu_wasted_seconds: number
}

const MOST_ROWS = 5_000

export interface ReportQuery {
  readonly by: UsageReportQuery['by']
  readonly from: Date
  readonly to: Date
  readonly domain?: string | undefined
  /** Default: the largest GPU-hours first. */
  readonly order?: UsageOrder | undefined
  readonly descending?: boolean | undefined
  /** Part of the name, in any letter case. */
  readonly search?: string | undefined
  /** Default: 5,000 rows. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/** What rows are grouped by, and how to read the name of a group. All kernels of a session run on one agent. */
const DIMENSIONS: Readonly<
  Record<UsageReportQuery['by'], { readonly key: RawBuilder<unknown>; readonly name: RawBuilder<unknown> }>
> = {
  user: { key: sql`s.owner_id`, name: sql`(select email from users where users.id = nullif(totals.key, '')::uuid)` },
  project: {
    key: sql`s.group_id`,
    name: sql`(select domain || '/' || name from groups where groups.id = nullif(totals.key, '')::uuid)`,
  },
  domain: { key: sql`s.domain`, name: sql`totals.key` },
  image: { key: sql`s.image`, name: sql`totals.key` },
  agent: {
    key: sql`part.agent_id`,
    name: sql`(select name from agents where agents.id = nullif(totals.key, '')::uuid)`,
  },
}

/** The used part of what was held with figures; -1 without any. */
const partOf = (used: string, measured: string) => sql`coalesce(${sql.ref(used)} / nullif(${sql.ref(measured)}, 0), -1)`
const WASTED = sql`greatest(0, gpu_measured_seconds - gpu_used_seconds)`
const ORDER_BY: Readonly<Record<UsageOrder, RawBuilder<unknown>>> = {
  name: sql`lower(known)`,
  sessions: sql`sessions`,
  cpu: sql`cpu_seconds`,
  mem: sql`mem_byte_seconds`,
  gpu: sql`gpu_seconds`,
  cpuUsed: partOf('cpu_used_seconds', 'cpu_measured_seconds'),
  memUsed: partOf('mem_used_byte_seconds', 'mem_measured_byte_seconds'),
  gpuUsed: partOf('gpu_used_seconds', 'gpu_measured_seconds'),
  gpuWasted: sql`case when gpu_measured_seconds > 0 then ${WASTED} else -1 end`,
}

/**
 * Total resource use of sessions between two moments, equal to the second to a sum over the sessions. The sums of whole days of UTC
 * are added up; the hours before and after them, days whose sums are no longer true, and sessions that no sum contains are
 * computed from the sessions. Sessions without the dimension, such as a project that was deleted, are one row with an empty key.
 */
export async function readUsageReport(
  db: Db,
  report: ReportQuery,
): Promise<{ rows: ReportRow[]; totals: ReportTotals }> {
  const { by, from, to, domain, order = 'gpu', descending = true, search, limit = MOST_ROWS, offset = 0 } = report
  const { key, name } = DIMENSIONS[by]
  // The names of all rows are read only where the choice of the page depends on them.
  const [named, shown] =
    search || order === 'name' ? [sql`coalesce(${name}, '')`, sql`known`] : [sql`''`, sql`coalesce(${name}, '')`]
  const inDomain = (column: RawBuilder<unknown>) => (domain === undefined ? sql`true` : sql`${column} = ${domain}`)
  /** What sessions held in the times of `spans`. A session counts in the first span that it ran in. */
  const held = (spans: RawBuilder<unknown>, sessions: RawBuilder<unknown>) => sql`
    select group_key, count(distinct id) filter (where interruptions = 0 and (started_at >= start or start = ${from})) as sessions,
      sum(cores * held) as cpu, sum(mem * held) as mem, sum(gpus * held) as gpu, sum(used * held / whole) as used,
      sum(cores * held) filter (where used is not null) as measured, ${MEASURED_SUMS}
    from (
      select coalesce(${key}::text, '') as group_key, ${HELD_COLUMNS}, s.interruptions, spans.start,
        date_part('epoch', least(part.ended_at, spans.stop) - greatest(part.started_at, spans.start)) as held
      from ${spans} cross join lateral (
        select * from sessions s where ${sessions} and ${HAS_RUN} and ${inDomain(sql`s.domain`)}
      ) s ${PARTS}
      where part.started_at < spans.stop and (part.ended_at > spans.start or part.started_at >= spans.start)
    ) of_span group by group_key`
  const direction = sql.raw(descending ? 'desc' : 'asc')
  const added = sql.join(MEASURED.map(name => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`))
  const { rows } = await sql<Partial<ReportRow> & { totals: ReportTotals }>`
    with days as (
      select g::date as day, g at time zone 'UTC' as start, (g + interval '1 day') at time zone 'UTC' as stop,
        exists (select from usage_recounts r where g::date between r.first_day and r.last_day) as untrue
      from generate_series(date_trunc('day', ${from}::timestamptz at time zone 'UTC'), ${to}::timestamptz at time zone 'UTC', '1 day') g
    ), summed as materialized (
      select day, start from days where start >= ${from} and stop <= ${to} and not untrue
    ), spans as materialized (
      select greatest(start, ${from}) as start, least(stop, ${to}) as stop from days
      where (start < ${from} or stop > ${to} or untrue) and start < ${to}
    ), found as (
      select key as group_key, sum(case when start = ${from} then sessions else begun end) as sessions, sum(cpu_seconds) as cpu,
        sum(mem_byte_seconds) as mem, sum(gpu_seconds) as gpu, sum(cpu_used_seconds) as used, sum(cpu_measured_seconds) as measured,
        ${added}
      from summed join usage_days using (day) where dimension = ${by} and ${inDomain(sql`domain`)} group by key
      union all
      ${held(sql`spans`, sql`s.usage_summed and ${ranWithin({ from: sql`spans.start`, to: sql`spans.stop` })}`)}
      union all
      ${held(sql`(select ${from}::timestamptz as start, ${to}::timestamptz as stop) spans`, sql`not s.usage_summed`)}
      union all
      select coalesce(${key}::text, ''), count(distinct s.id), 0, 0, 0, 0, 0, 0, 0, 0, 0 from ${HELD_PARTS}
      where s.interruptions > 0 and ${inDomain(sql`s.domain`)} and part.started_at < ${to}
        and (part.ended_at > ${from} or part.started_at >= ${from})
      group by 1
    ), totals as materialized (
      select group_key as key, sum(sessions)::int as sessions, coalesce(sum(cpu), 0) as cpu_seconds,
        coalesce(sum(mem), 0) as mem_byte_seconds, coalesce(sum(gpu), 0) as gpu_seconds,
        coalesce(sum(used), 0) as cpu_used_seconds, coalesce(sum(measured), 0) as cpu_measured_seconds, ${added}
      from found group by group_key
    ), matching as materialized (
      select * from (select totals.*, ${named} as known from totals) named
      where ${search ? sql`position(${search.toLowerCase()} in lower(known)) > 0` : sql`true`}
    ), page as (
      select *, row_number() over (order by ${ORDER_BY[order]} ${direction}, cpu_seconds desc, key) as nth from matching
      order by nth limit ${limit} offset ${offset}
    )
    select totals.*, ${shown} as name, counted.totals from (
      select jsonb_build_object('rows', count(*), 'cpu_seconds', coalesce(sum(cpu_seconds), 0),
        'mem_byte_seconds', coalesce(sum(mem_byte_seconds), 0), 'gpu_seconds', coalesce(sum(gpu_seconds), 0),
        'gpu_wasted_seconds', coalesce(sum(${WASTED}), 0)) as totals from matching
    ) counted left join page totals on true order by nth`.execute(db)
  const [first] = rows
  if (!first) throw new Error('a query of totals has a row')
  return { rows: rows.flatMap(row => (isReportRow(row) ? [row] : [])), totals: first.totals }
}

/** The totals come with a row also where the page is empty. */
const isReportRow = (row: Partial<ReportRow>): row is ReportRow => typeof row.key === 'string'
