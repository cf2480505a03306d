import { type RawBuilder, sql } from 'kysely'
import { type GroupId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { HAS_RUN, HELD_COLUMNS, HELD_PARTS, IO_COLUMNS, MEASURED_SUMS, type MeasuredSums } from './held-parts.ts'

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
 */
export async function readUsageHistory(db: Db, scope: HistoryScope, range: HistoryRange): Promise<HistoryRow[]> {
  const { unit, from, to, timeZone } = range
  const { rows } = await sql<HistoryRow>`
    with periods as (
      select g at time zone ${timeZone} as start, (g + ${`1 ${unit}`}::interval) at time zone ${timeZone} as stop
      from generate_series(
        date_trunc(${unit}, ${from}::timestamptz at time zone ${timeZone}),
        ${to}::timestamptz at time zone ${timeZone}, ${`1 ${unit}`}::interval) g
    ), ran as (
      select ${HELD_COLUMNS}, ${IO_COLUMNS}
      from ${HELD_PARTS}
      where ${HAS_RUN} and part.started_at < (select max(stop) from periods)
        and (s.ended_at is null or s.ended_at > (select min(start) from periods)) and ${within(scope)}
    ), parts as (
      select p.start, r.*,
        extract(epoch from least(r.ended_at, p.stop) - greatest(r.started_at, p.start))::float8 as held
      from periods p join ran r on r.started_at < p.stop and r.ended_at > p.start
    )
    select p.start as at, count(distinct r.id)::int as sessions,
      coalesce(sum(r.cores * r.held), 0) as cpu_seconds,
      coalesce(sum(r.mem * r.held), 0) as mem_byte_seconds,
      coalesce(sum(r.gpus * r.held), 0) as gpu_seconds,
      coalesce(sum(r.used * r.held / r.whole), 0) as cpu_used_seconds,
      coalesce(sum(r.cores * r.held) filter (where r.used is not null), 0) as cpu_measured_seconds,
      ${MEASURED_SUMS},
      coalesce(sum(io_read * held / whole), 0) as read_bytes, coalesce(sum(io_written * held / whole), 0) as written_bytes,
      coalesce(sum(io_received * held / whole), 0) as received_bytes, coalesce(sum(io_sent * held / whole), 0) as sent_bytes
    from periods p left join parts r on r.start = p.start
    group by p.start order by p.start`.execute(db)
  return rows
}
