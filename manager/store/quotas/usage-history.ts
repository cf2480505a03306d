import { type RawBuilder, sql } from 'kysely'
import { type GroupId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { HELD_COLUMNS, IO_COLUMNS, type MeasuredSums, PARTS, ranWithin } from './held-parts.ts'
import { HISTORY_NAMES, HISTORY_SUMS } from './usage-hours.ts'

/** Filter of the sessions that count. All fields that are set must match. */
export interface HistoryScope {
  readonly ownerId?: UserId | undefined
  readonly groupId?: GroupId | undefined
  readonly domain?: string | undefined
}

export interface HistoryRange {
  readonly unit: 'hour' | 'day' | 'week'
  /** The first period contains this moment, the last one ends after `to`. */
  readonly from: Date
  readonly to: Date
  /** IANA name: days begin at midnight there, weeks on Monday. */
  readonly timeZone: string
}

export interface HistoryRow extends MeasuredSums {
  readonly at: Date
  readonly sessions: number
  /** Seconds for which running sessions held a core, a byte or a GPU, multiplied by the amount. */
  readonly cpu_seconds: number
  readonly mem_byte_seconds: number
  readonly gpu_seconds: number
  /** CPU time used by sessions with statistics, and the core-seconds that these held. */
  readonly cpu_used_seconds: number
  readonly cpu_measured_seconds: number
  readonly read_bytes: number
  readonly written_bytes: number
  readonly received_bytes: number
  readonly sent_bytes: number
}

const within = ({ ownerId, groupId, domain }: HistoryScope): RawBuilder<unknown> =>
  sql.join(
    [
      sql`true`,
      ...(ownerId === undefined ? [] : [sql`s.owner_id = ${ownerId}`]),
      ...(groupId === undefined ? [] : [sql`s.group_id = ${groupId}`]),
      ...(domain === undefined ? [] : [sql`s.domain = ${domain}`]),
    ],
    sql` and `,
  )

/**
 * Resource use of sessions in each hour, day or week, oldest first; periods without sessions have zeros. CPU time is known only as a total
 * per session, and is spread evenly over the session's running time.
 *
 * The history of all sessions, or those of a domain, adds up the sums by hour, which contain most sessions that have ended. The rest is
 * computed from the sessions: those that no sum contains, periods on days with outdated sums, periods that do not consist of whole hours of
 * UTC (in some time zones), and the history of an owner or a project. Both ways agree to the second.
 *
 * A session that ran through many periods costs no more than one that ran through two: the whole periods between its begin and end are
 * added up together with those of other sessions that began and ended in the same periods.
 */
export async function readUsageHistory(db: Db, scope: HistoryScope, range: HistoryRange): Promise<HistoryRow[]> {
  const { unit, from, to, timeZone } = range
  const { ownerId, groupId, domain } = scope
  const hasSums = ownerId === undefined && groupId === undefined
  const added = sql.join(
    HISTORY_NAMES.map(
      name => sql`coalesce(edges.${sql.ref(name)}, 0) + coalesce(between_edges.${sql.ref(name)}, 0)
        + coalesce(summed.${sql.ref(name)}, 0) as ${sql.ref(name)}`,
    ),
  )
  const sums = sql.join(HISTORY_NAMES.map(name => sql`sum(${sql.ref(name)}) as ${sql.ref(name)}`))
  const ofWhole = sql.join(HISTORY_NAMES.map(name => sql`sum(${sql.ref(name)}) * p.seconds as ${sql.ref(name)}`))
  const { rows } = await sql<HistoryRow>`
    with periods as materialized (
      select row_number() over (order by start)::int as nth, start, stop, date_part('epoch', stop - start) as seconds,
        ${hasSums} and date_trunc('hour', start, 'UTC') = start and date_trunc('hour', stop, 'UTC') = stop
          and not exists (select from usage_recounts r
            where r.first_day < stop at time zone 'UTC' and r.last_day + 1 > start at time zone 'UTC') as has_sums
      from (
        select g at time zone ${timeZone} as start, (g + ${`1 ${unit}`}::interval) at time zone ${timeZone} as stop
        from generate_series(
          date_trunc(${unit}, ${from}::timestamptz at time zone ${timeZone}),
          ${to}::timestamptz at time zone ${timeZone}, ${`1 ${unit}`}::interval) g
      ) of_unit
    ), span as (
      select min(start) as start, max(stop) as stop, array_agg(start order by start) as starts from periods
    ), bare as (
      select min(start) as start, max(stop) as stop from periods where not has_sums having count(*) > 0
    ), found as (
      select s.* from span cross join sessions s where not s.usage_summed and ${ranIn('span')}
      union all
      select s.* from bare cross join sessions s where s.usage_summed and s.interruptions = 0 and ${ranIn('bare')}
      union all
      select s.* from sessions s where s.usage_summed and s.interruptions > 0
    ), ran as materialized (
      -- The periods of its begin and its end: those between them it held whole.
      select *, greatest(1, width_bucket(started_at, starts)) as first,
        greatest(1, width_bucket(started_at, starts), width_bucket(ended_at - interval '1 microsecond', starts)) as last
      from (
        select ${HELD_COLUMNS}, ${IO_COLUMNS}, s.usage_summed, s.interruptions > 0 as interrupted
        from (select * from found s where ${within(scope)}) s ${PARTS}
      ) part cross join span
      where started_at < span.stop and (ended_at > span.start or started_at >= span.start)
    ), edges as (
      select nth, ${HISTORY_SUMS} from (
        select edge.*, date_part('epoch', least(ended_at, p.stop) - greatest(started_at, p.start)) as held
        from (select *, first as nth from ran union all select *, last from ran where last > first) edge
        join periods p using (nth)
        where not (p.has_sums and usage_summed) offset 0
      ) of_period group by nth
    ), alike as materialized (
      select first, last, usage_summed, ${HISTORY_SUMS}
      from (select ran.*, 1 as held from ran where last > first + 1) long group by first, last, usage_summed
    ), runs as materialized (
      select first, last, usage_summed, count(*) as sessions from (
        select min(first) as first, max(last) as last, usage_summed from ran where not interrupted group by id, usage_summed
      ) of_session group by first, last, usage_summed
    ), interrupted as materialized (
      -- An interrupted session may run in periods with others between them: no sum counts it.
      select distinct id, first, last from ran where interrupted
    )
    select start as at,
      (coalesce(whole_runs.sessions, 0) + with_gaps.sessions + coalesce(summed.sessions, 0))::int as sessions, ${added}
    from periods p left join edges using (nth)
    cross join lateral (
      select ${ofWhole} from alike where first < p.nth and last > p.nth and not (p.has_sums and usage_summed)
    ) between_edges cross join lateral (
      select sum(sessions) as sessions from runs
      where p.nth between first and last and not (p.has_sums and usage_summed)
    ) whole_runs cross join lateral (
      select count(distinct id) as sessions from interrupted where p.nth between first and last
    ) with_gaps cross join lateral (
      select sum(case when hour = p.start then sessions else begun end) as sessions, ${sums}
      from usage_hours
      where p.has_sums and hour >= p.start and hour < p.stop and ${domain === undefined ? sql`true` : sql`domain = ${domain}`}
    ) summed
    order by start`.execute(db)
  return rows
}

/** Whether a session (`s`) may have run in the time between `start` and `stop` of a table. */
const ranIn = (table: 'span' | 'bare') => ranWithin({ from: sql.ref(`${table}.start`), to: sql.ref(`${table}.stop`) })
