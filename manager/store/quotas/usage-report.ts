import { type RawBuilder, sql } from 'kysely'
import { type UsageOrder } from '#manager/contract'
import { type Db } from '../schema.ts'
import {
  HAS_RUN,
  HELD_COLUMNS,
  HELD_PARTS,
  keyedBy,
  MEASURED,
  MEASURED_SUMS,
  type MeasuredSums,
  PARTS,
  ranWithin,
  type UsageDimension,
} from './held-parts.ts'
import { SETTLED } from './usage-days.ts'

export interface ReportRow extends MeasuredSums {
  readonly key: string
  readonly name: string
  readonly sessions: number
  /** Seconds for which running sessions held a core, a byte or a GPU, multiplied by the amount. */
  readonly cpu_seconds: number
  readonly mem_byte_seconds: number
  readonly gpu_seconds: number
  /** CPU time used by sessions with statistics, and the core-seconds that these held. */
  readonly cpu_used_seconds: number
  readonly cpu_measured_seconds: number
}

/** Sums over all rows of a report, also those of other pages. */
export interface ReportTotals {
  readonly rows: number
  readonly cpu_seconds: number
  readonly mem_byte_seconds: number
  readonly gpu_seconds: number
  /** The part of these with statistics. */
  readonly gpu_measured_seconds: number
  /** Null without statistics. */
  readonly gpu_wasted_seconds: number | null
}

const MOST_ROWS = 5_000

export interface ReportQuery {
  readonly from: Date
  readonly to: Date
  readonly domain?: string | undefined
  /** Default: the most GPU-hours first. */
  readonly order?: UsageOrder | undefined
  readonly descending?: boolean | undefined
  /** Part of the name, in any letter case. */
  readonly search?: string | undefined
  /** Default: 5,000 rows. */
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

export interface Report {
  readonly rows: ReportRow[]
  readonly totals: ReportTotals
}

/** Reads the name of a row by its key. */
const NAMES: Readonly<Record<UsageDimension, RawBuilder<unknown>>> = {
  user: sql`(select email from users where users.id = nullif(totals.key, '')::uuid)`,
  project: sql`(select domain || '/' || name from groups where groups.id = nullif(totals.key, '')::uuid)`,
  domain: sql`totals.key`,
  image: sql`totals.key`,
  agent: sql`(select name from agents where agents.id = nullif(totals.key, '')::uuid)`,
}

/** The used fraction of the amounts held with statistics; -1 without any. */
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
 * Total resource use of sessions between two moments by each dimension, as exact as a sum over the sessions. The sums of whole weeks and
 * days of UTC are added up; the hours before and after them, days with outdated sums, and sessions that no sum contains are computed from
 * the sessions, once for all dimensions. Sessions without the dimension, such as a project that was deleted, are one row with an empty key.
 */
export async function readUsageReports<D extends UsageDimension>(
  db: Db,
  dimensions: readonly D[],
  report: ReportQuery,
): Promise<Record<D, Report>> {
  const { from, to, domain, order = 'gpu', descending = true, search, limit = MOST_ROWS, offset = 0 } = report
  const name = sql`case totals.dimension ${sql.join(
    dimensions.map(by => sql`when ${sql.lit(by)} then ${NAMES[by]}`),
    sql` `,
  )} end`
  // The names of all rows are read only if selecting the page depends on them.
  const hasNames = Boolean(search) || order === 'name'
  const [named, shown] = hasNames ? [sql`coalesce(${name}, '')`, sql`known`] : [sql`''`, sql`coalesce(${name}, '')`]
  const inDomain = (column: RawBuilder<unknown>) => (domain === undefined ? sql`true` : sql`${column} = ${domain}`)
  const asked = sql`array[${sql.join(dimensions.map(by => sql.lit(by)))}]::text[]`
  /** Amounts that sessions held in the times of `spans`. A session is counted in the first span in which it ran. */
  const held = (spans: RawBuilder<unknown>, sessions: RawBuilder<unknown>) => sql`
    select ${HELD_COLUMNS}, s.owner_id, s.group_id, s.domain, s.image, part.agent_id,
      s.interruptions = 0 and (part.started_at >= spans.start or spans.start = ${from}) as counts,
      date_part('epoch', least(part.ended_at, spans.stop) - greatest(part.started_at, spans.start)) as held
    from ${spans} cross join lateral (
      select * from sessions s where ${sessions} and ${HAS_RUN} and ${inDomain(sql`s.domain`)}
    ) s ${PARTS}
    where part.started_at < spans.stop and (part.ended_at > spans.start or part.started_at >= spans.start)`
  const inOrder = sql`${ORDER_BY[order]} ${sql.raw(descending ? 'desc' : 'asc')}, cpu_seconds desc, key`
  const added = sql.join(MEASURED.map(name => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`))
  const measured = sql.join(MEASURED.map(name => sql.ref(name)))
  // If the report reaches to about now, every summed session ended before the report's end, so the sums of the last day contain nothing
  // later. The extra minute is for sessions that are summed while the report begins.
  const reachesNow = sql`${to}::timestamptz > now() - ${SETTLED} + interval '1 minute'`
  /** The periods that overlap the report. */
  const periodsOf = (unit: 'day' | 'week') => {
    const step = sql`${sql.lit(`1 ${unit}`)}::interval`
    return sql`select g::date as ${sql.ref(unit)}, g at time zone 'UTC' as start, (g + ${step}) at time zone 'UTC' as stop
      from generate_series(
        date_trunc(${sql.lit(unit)}, ${from}::timestamptz at time zone 'UTC'), ${to}::timestamptz at time zone 'UTC', ${step}) g`
  }
  /** Whether the report uses the sum of a period: the report contains the whole period, and the sum is valid. */
  const isSummed = (unit: 'day' | 'week') => sql`start >= ${from} and (stop <= ${to} or ${reachesNow})
    and not exists (select from usage_recounts r
      where r.first_day < stop at time zone 'UTC' and r.last_day >= ${sql.ref(unit)})`
  // Arrays instead of joins: the planner then knows how few periods there are, and uses the index.
  const sumsOf = (unit: 'day' | 'week', periods: RawBuilder<unknown>) => sql`
    select dimension, key as group_key,
      case when ${sql.ref(unit)}::timestamp at time zone 'UTC' = ${from} then sessions else begun end as sessions,
      cpu_seconds as cpu, mem_byte_seconds as mem, gpu_seconds as gpu, cpu_used_seconds as used, cpu_measured_seconds as measured,
      ${measured}
    from ${sql.table(`usage_${unit}s`)}
    where dimension = any(${asked}) and ${sql.ref(unit)} = any(array(${periods})) and ${inDomain(sql`domain`)}`
  const { rows } = await sql<Partial<ReportRow> & { dimension: D; totals: ReportTotals }>`
    with weeks as materialized (
      select * from (${periodsOf('week')}) of_time where ${isSummed('week')}
    ), days as (
      select *, ${isSummed('day')} as is_summed from (${periodsOf('day')}) of_time
      where not exists (select from weeks where day between week and week + 6)
    ), spans as materialized (
      select greatest(start, ${from}) as start, least(stop, ${to}) as stop from days where not is_summed and start < ${to}
    ), held as materialized (
      ${held(sql`spans`, sql`s.usage_summed and ${ranWithin({ from: sql`spans.start`, to: sql`spans.stop` })}`)}
      union all
      ${held(sql`(select ${from}::timestamptz as start, ${to}::timestamptz as stop) spans`, sql`not s.usage_summed`)}
    ), of_sessions as materialized (
      select owner_id, group_id, domain, image, agent_id, bool_or(counts) as counts, sum(cores * held) as cpu, sum(mem * held) as mem,
        sum(gpus * held) as gpu, sum(used * held / whole) as used, sum(cores * held) filter (where used is not null) as measured,
        ${MEASURED_SUMS}
      from held group by id, owner_id, group_id, domain, image, agent_id
    ), found as (
      ${sumsOf('week', sql`select week from weeks`)}
      union all
      ${sumsOf('day', sql`select day from days where is_summed`)}
      union all
      select dimension, coalesce(keyed.key, ''), case when counts then 1 else 0 end, cpu, mem, gpu, used, measured, ${measured}
      from of_sessions ${keyedBy(dimensions)}
      union all
      select dimension, coalesce(keyed.key, ''), count(distinct s.id), 0, 0, 0, 0, 0, 0, 0, 0, 0
      from ${HELD_PARTS} ${keyedBy(dimensions)}
      where s.interruptions > 0 and ${inDomain(sql`s.domain`)} and part.started_at < ${to}
        and (part.ended_at > ${from} or part.started_at >= ${from})
      group by 1, 2
    ), totals as materialized (
      select dimension, group_key as key, sum(sessions)::int as sessions, coalesce(sum(cpu), 0) as cpu_seconds,
        coalesce(sum(mem), 0) as mem_byte_seconds, coalesce(sum(gpu), 0) as gpu_seconds,
        coalesce(sum(used), 0) as cpu_used_seconds, coalesce(sum(measured), 0) as cpu_measured_seconds, ${added}
      from found group by dimension, group_key
    ), matching as ${sql.raw(hasNames ? 'materialized' : 'not materialized')} (
      select * from (select totals.*, ${named} as known from totals) named
      where ${search ? sql`position(${search.toLowerCase()} in lower(known)) > 0` : sql`true`}
    )
    select totals.*, ${shown} as name, asked.dimension, counted.totals
    from unnest(${asked}) asked (dimension)
    cross join lateral (
      select jsonb_build_object('rows', count(*), 'cpu_seconds', coalesce(sum(cpu_seconds), 0),
        'mem_byte_seconds', coalesce(sum(mem_byte_seconds), 0), 'gpu_seconds', coalesce(sum(gpu_seconds), 0),
        'gpu_measured_seconds', coalesce(sum(gpu_measured_seconds), 0),
        'gpu_wasted_seconds', sum(${WASTED}) filter (where gpu_measured_seconds > 0)) as totals
      from matching where matching.dimension = asked.dimension
    ) counted
    left join lateral (
      select * from matching where matching.dimension = asked.dimension order by ${inOrder} limit ${limit} offset ${offset}
    ) totals on true
    order by ${inOrder}`.execute(db)
  const reports = dimensions.map(by => {
    const found = rows.filter(({ dimension }) => dimension === by)
    const [first] = found
    if (!first) throw new Error('a query of totals has a row for each dimension')
    return [by, { rows: found.flatMap(row => (isReportRow(row) ? [row] : [])), totals: first.totals }]
  })
  return Object.fromEntries(reports) as Record<D, Report>
}

/** Like `readUsageReports`, by one dimension. */
export async function readUsageReport(
  db: Db,
  { by, ...report }: ReportQuery & { readonly by: UsageDimension },
): Promise<Report> {
  return (await readUsageReports(db, [by], report))[by]
}

/** A row with the totals comes even if the page is empty. */
const isReportRow = (row: Partial<ReportRow>): row is ReportRow => typeof row.key === 'string'
