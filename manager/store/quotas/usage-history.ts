import { type RawBuilder, sql } from 'kysely'
import { type GroupId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { HELD_COLUMNS, IO_COLUMNS, MEASURED_SUMS, type MeasuredSums, PARTS, ranWithin } from './held-parts.ts'

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
 * Resource use of sessions in each hour, day or week, oldest first; periods without sessions have zeros. Computed from the sessions
 * themselves: no running sum is kept. CPU time is known per session as a total, and counts evenly over the session's running time.
 *
 * Sessions are read once for all periods; `offset 0` lets PostgreSQL compute the seconds of a row once, not once for each sum.
 */
export async function readUsageHistory(db: Db, scope: HistoryScope, range: HistoryRange): Promise<HistoryRow[]> {
  const { unit, from, to, timeZone } = range
  const { rows } = await sql<HistoryRow>`
    with periods as (
      select g at time zone ${timeZone} as start, (g + ${`1 ${unit}`}::interval) at time zone ${timeZone} as stop
      from generate_series(
        date_trunc(${unit}, ${from}::timestamptz at time zone ${timeZone}),
        ${to}::timestamptz at time zone ${timeZone}, ${`1 ${unit}`}::interval) g
    ), span as (
      select min(start) as start, max(stop) as stop from periods
    ), ran as materialized (
      select ${HELD_COLUMNS}, ${IO_COLUMNS}
      from span cross join lateral (
        select * from sessions s where ${ranWithin({ from: sql`span.start`, to: sql`span.stop` })} and ${within(scope)}
      ) s ${PARTS}
    )
    select p.start as at, sums.* from periods p cross join lateral (
      select count(distinct id)::int as sessions,
        coalesce(sum(cores * held), 0) as cpu_seconds,
        coalesce(sum(mem * held), 0) as mem_byte_seconds,
        coalesce(sum(gpus * held), 0) as gpu_seconds,
        coalesce(sum(used * held / whole), 0) as cpu_used_seconds,
        coalesce(sum(cores * held) filter (where used is not null), 0) as cpu_measured_seconds,
        ${MEASURED_SUMS},
        coalesce(sum(io_read * held / whole), 0) as read_bytes, coalesce(sum(io_written * held / whole), 0) as written_bytes,
        coalesce(sum(io_received * held / whole), 0) as received_bytes, coalesce(sum(io_sent * held / whole), 0) as sent_bytes
      from (
        select ran.*, extract(epoch from least(ended_at, p.stop) - greatest(started_at, p.start))::float8 as held
        from ran where started_at < p.stop and ended_at > p.start offset 0
      ) of_period
    ) sums order by p.start`.execute(db)
  return rows
}
