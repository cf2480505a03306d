import { type RawBuilder, sql } from 'kysely'
import { type GroupId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { HELD_COLUMNS, IO_COLUMNS, type MeasuredSums, PARTS, ranWithin } from './held-parts.ts'
import { HISTORY_NAMES, HISTORY_SUMS } from './usage-hours.ts'

/** Whose sessions count. All fields that are set must match. */
export interface HistoryScope {
  readonly ownerId?: UserId | undefined
  readonly groupId?: GroupId | undefined
  readonly domain?: string | undefined
}

export interface HistoryRange {
  readonly unit: 'hour' | 'day' | 'week'
  /** The first period has this moment, the last one ends after `to`. */
  readonly from: Date
  readonly to: Date
  /** IANA name: days begin at midnight there, weeks on Monday. */
  readonly timeZone: string
}

export interface HistoryRow extends MeasuredSums {
  readonly at: Date
  readonly sessions: number
  /** Seconds that running sessions held a core, a byte, a GPU, times the amount. */
  readonly cpu_seconds: number
  readonly mem_byte_seconds: number
  readonly gpu_seconds: number
  /** CPU time used by sessions with figures, and the seconds of cores that these held. */
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
 * Resource use of sessions in each hour, day or week, oldest first; periods without sessions have zeros. CPU time is known per session
 * as a total, and counts evenly over the session's running time.
 *
 * The history of all sessions, or those of a domain, adds up the sums by hour, which contain most sessions that have ended. The rest is
 * computed from the sessions: those that no sum contains, periods on days whose sums are no longer true, periods that do not consist
 * of whole hours (in a time zone of half ones), and the history of an owner or a project. Both ways agree to the second.
 */
export async function readUsageHistory(db: Db, scope: HistoryScope, range: HistoryRange): Promise<HistoryRow[]> {
  const { unit, from, to, timeZone } = range
  const { ownerId, groupId, domain } = scope
  const hasSums = ownerId === undefined && groupId === undefined
  const added = sql.join(
    HISTORY_NAMES.map(name => sql`sums.${sql.ref(name)} + coalesce(summed.${sql.ref(name)}, 0) as ${sql.ref(name)}`),
  )
  // `offset 0` lets PostgreSQL compute the seconds of a row once, not once for each sum.
  const { rows } = await sql<HistoryRow>`
    with periods as materialized (
      select start, stop, ${hasSums} and date_trunc('hour', start, 'UTC') = start and date_trunc('hour', stop, 'UTC') = stop
        and not exists (select from usage_recounts r
          where r.first_day < stop at time zone 'UTC' and r.last_day + 1 > start at time zone 'UTC') as has_sums
      from (
        select g at time zone ${timeZone} as start, (g + ${`1 ${unit}`}::interval) at time zone ${timeZone} as stop
        from generate_series(
          date_trunc(${unit}, ${from}::timestamptz at time zone ${timeZone}),
          ${to}::timestamptz at time zone ${timeZone}, ${`1 ${unit}`}::interval) g
      ) of_unit
    ), span as (
      select min(start) as start, max(stop) as stop from periods
    ), bare as (
      select min(start) as start, max(stop) as stop from periods where not has_sums having count(*) > 0
    ), found as (
      select s.* from span cross join sessions s where not s.usage_summed and ${ranIn('span')}
      union all
      select s.* from bare cross join sessions s where s.usage_summed and s.interruptions = 0 and ${ranIn('bare')}
      union all
      select s.* from sessions s where s.usage_summed and s.interruptions > 0
    ), ran as materialized (
      select ${HELD_COLUMNS}, ${IO_COLUMNS}, s.usage_summed, s.interruptions
      from (select * from found s where ${within(scope)}) s ${PARTS}
    )
    select start as at, sums.sessions + coalesce(summed.sessions, 0) as sessions, ${added}
    from periods p cross join lateral (
      select count(distinct id)::int as sessions, ${HISTORY_SUMS}
      from (
        -- A session that was interrupted may run in periods with others between them: it is counted here, and held what the sums say.
        select ran.*, case when p.has_sums and usage_summed then 0
          else date_part('epoch', least(ended_at, p.stop) - greatest(started_at, p.start)) end as held
        from ran where started_at < p.stop and (ended_at > p.start or started_at >= p.start)
          and not (p.has_sums and usage_summed and interruptions = 0) offset 0
      ) of_period
    ) sums left join lateral (
      select sum(case when hour = p.start then sessions else begun end)::int as sessions,
        ${sql.join(HISTORY_NAMES.map(name => sql`sum(${sql.ref(name)}) as ${sql.ref(name)}`))}
      from usage_hours
      where p.has_sums and hour >= p.start and hour < p.stop and ${domain === undefined ? sql`true` : sql`domain = ${domain}`}
    ) summed on true
    order by start`.execute(db)
  return rows
}

/** Whether a session (`s`) may have run in the time between `start` and `stop` of a table. */
const ranIn = (table: 'span' | 'bare') => ranWithin({ from: sql.ref(`${table}.start`), to: sql.ref(`${table}.stop`) })
