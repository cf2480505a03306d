import { type RawBuilder, type Transaction, sql } from 'kysely'
import { type Database } from '../schema.ts'
import { HAS_RUN, HELD_COLUMNS, HELD_PARTS, IO_COLUMNS, MEASURED, MEASURED_SUMS } from './held-parts.ts'

/** Names of the byte sums of a history, and their source columns. */
const IO = [
  ['read_bytes', 'io_read'],
  ['written_bytes', 'io_written'],
  ['received_bytes', 'io_received'],
  ['sent_bytes', 'io_sent'],
] as const

/**
 * Sums over rows of held resources, with the seconds that each row was held as `held`: all values of a history except the number of
 * sessions.
 */
export const HISTORY_SUMS = sql`
  coalesce(sum(cores * held), 0) as cpu_seconds, coalesce(sum(mem * held), 0) as mem_byte_seconds,
  coalesce(sum(gpus * held), 0) as gpu_seconds, coalesce(sum(used * held / whole), 0) as cpu_used_seconds,
  coalesce(sum(cores * held) filter (where used is not null), 0) as cpu_measured_seconds, ${MEASURED_SUMS},
  ${sql.join(IO.map(([name, column]) => sql`coalesce(sum(${sql.ref(column)} * held / whole), 0) as ${sql.ref(name)}`))}`

/** Names of the columns of HISTORY_SUMS, in this order. */
export const HISTORY_NAMES = [
  ...(['cpu_seconds', 'mem_byte_seconds', 'gpu_seconds', 'cpu_used_seconds', 'cpu_measured_seconds'] as const),
  ...MEASURED,
  ...IO.map(([name]) => name),
] as const

/**
 * Adds the resources that the sessions held to the sums of the hours, on the days between `from` and `to` that match `days` (`g` is an
 * hour).
 */
export async function addHours(
  trx: Transaction<Database>,
  added: {
    readonly sessions: RawBuilder<unknown>
    readonly from: RawBuilder<unknown>
    readonly to: RawBuilder<unknown>
    readonly days: RawBuilder<unknown>
  },
): Promise<void> {
  const { sessions, from, to, days } = added
  const names = ['sessions', 'begun', ...HISTORY_NAMES]
  await sql`
    with parts as (
      select ${HELD_COLUMNS}, ${IO_COLUMNS}, s.interruptions, s.domain from ${HELD_PARTS} where ${HAS_RUN} and ${sessions}
    ), hourly as (
      select parts.*, g as hour, started_at >= g as begins,
        date_part('epoch', least(ended_at, g + interval '1 hour') - greatest(started_at, g)) as held
      from parts cross join lateral generate_series(
        date_trunc('hour', greatest(started_at, ${from}), 'UTC'), least(ended_at, ${to}), '1 hour') g
      where (ended_at > g or started_at >= g) and ${days}
    )
    insert into usage_hours (hour, domain, ${sql.join(names.map(name => sql.ref(name)))})
    select hour, domain, count(distinct id) filter (where interruptions = 0),
      count(distinct id) filter (where interruptions = 0 and begins), ${HISTORY_SUMS}
    from hourly group by hour, domain
    on conflict (hour, domain) do update set
      ${sql.join(names.map(name => sql`${sql.ref(name)} = usage_hours.${sql.ref(name)} + excluded.${sql.ref(name)}`))}`.execute(
    trx,
  )
}
