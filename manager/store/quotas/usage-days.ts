import { type RawBuilder, type Transaction, sql } from 'kysely'
import { type SessionId, USAGE_DIMENSIONS } from '#manager/contract'
import { type Database } from '../schema.ts'
import { HAS_RUN, HELD_COLUMNS, HELD_PARTS, keyedBy, MEASURED, MEASURED_SUMS, ranWithin } from './held-parts.ts'
import { addHours, HISTORY_NAMES } from './usage-hours.ts'

/**
 * Sums of usage by day of UTC, in `usage_days`, by week, in `usage_weeks`, and by hour, in `usage_hours`. They contain the sessions with
 * `usage_summed`, all of which have ended; triggers record in `usage_recounts` the days whose sums are outdated because such a session was
 * changed or deleted. A report or history adds up the sums of valid days and computes the rest from the sessions.
 */

/** Number of sessions per transaction, because statements have a time limit. */
const SESSIONS_AT_ONCE = 500
/** Number of days per transaction. */
const DAYS_AT_ONCE = 3
/** Time from a session's end until it is summed: its last CPU statistics arrive after the end. */
export const SETTLED = sql`interval '5 minutes'`
const SUMS = [
  ...(['sessions', 'begun', 'cpu_seconds', 'mem_byte_seconds', 'gpu_seconds'] as const),
  ...(['cpu_used_seconds', 'cpu_measured_seconds'] as const),
  ...MEASURED,
] as const
const DAY_OF_HOUR = sql`(hour at time zone 'UTC')::date`
/** Whether an hour is on one of some days, which are sorted. */
const isOn = (days: readonly string[]) => sql`${DAY_OF_HOUR} = any(${days}::date[])
  and hour >= ${days[0]}::timestamp at time zone 'UTC' and hour < (${days.at(-1)}::timestamp + interval '1 day') at time zone 'UTC'`

/** Waits until no other transaction changes the sums. Call it first. */
async function lockSums(trx: Transaction<Database>): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('berth:usage-days', 0))`.execute(trx)
}

/** Adds sessions that ended some minutes ago to the sums. @returns whether there may be more of them */
export async function sumEndedSessions(trx: Transaction<Database>): Promise<boolean> {
  await lockSums(trx)
  const { rows } = await sql<{ id: SessionId }>`
    update sessions set usage_summed = true where id = any(array(
      select id from sessions where not usage_summed and ended_at < now() - ${SETTLED}
      order by ended_at limit ${SESSIONS_AT_ONCE} for update skip locked
    )) returning id`.execute(trx)
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) {
    const sessions = sql`s.id = any(${ids}::uuid[])`
    await addSums(trx, { unit: 'day', sessions })
    await addSums(trx, { unit: 'week', sessions })
    await addHours(trx, { sessions, from: sql`started_at`, to: sql`ended_at`, days: sql`true` })
  }
  return ids.length === SESSIONS_AT_ONCE
}

/** Marks the sums of every day on which a session ran as outdated. */
export async function distrustAllSums(trx: Transaction<Database>): Promise<void> {
  await sql`
    insert into usage_recounts (first_day, last_day)
    select first, last
    from (select least((select min(day) from usage_days), (select (min(started_at) at time zone 'UTC')::date from sessions),
        (select (min(started_at) at time zone 'UTC')::date from past_kernels)) as first,
      greatest((select max(day) from usage_days), (select (max(ended_at) at time zone 'UTC')::date from sessions)) as last) days
    where first is not null and last is not null`.execute(trx)
}

/** Recalculates the sums of some outdated days. @returns the number of days whose sums changed, and whether there are more days */
export async function recountDays(trx: Transaction<Database>): Promise<{ corrected: number; isMore: boolean }> {
  await lockSums(trx)
  const { rows } = await sql<{ day: string }>`
    with taken as (delete from usage_recounts returning first_day, last_day)
    select distinct g::date::text as day from taken, generate_series(first_day::timestamp, last_day::timestamp, '1 day') g
    order by day`.execute(trx)
  const [first] = rows
  if (!first) return { corrected: 0, isMore: false }
  const end = new Date(Date.parse(first.day) + DAYS_AT_ONCE * 86_400_000).toISOString().slice(0, 10)
  const days = rows.map(({ day }) => day).filter(day => day < end)
  const later = rows.slice(days.length).map(({ day }) => day)
  if (later.length > 0) {
    await sql`insert into usage_recounts (first_day, last_day) select day, day from unnest(${later}::date[]) day`.execute(
      trx,
    )
  }
  const before = await totalsOf(trx, days)
  await sql`delete from usage_days where day = any(${days}::date[])`.execute(trx)
  const range = { from: sql`${first.day}::timestamp at time zone 'UTC'`, to: sql`${end}::timestamp at time zone 'UTC'` }
  await sql`delete from usage_hours where ${isOn(days)}`.execute(trx)
  const sessions = sql`s.usage_summed and ${ranWithin(range)}`
  await addSums(trx, { unit: 'day', sessions, days })
  await addWeeksOf(trx, days)
  await addHours(trx, { sessions, ...range, days: sql`(g at time zone 'UTC')::date = any(${days}::date[])` })
  return { corrected: differentDays(before, await totalsOf(trx, days)).size, isMore: later.length > 0 }
}

/** Totals of each dimension of each day and of its hours, keyed by `day dimension`. */
async function totalsOf(trx: Transaction<Database>, days: readonly string[]): Promise<Map<string, readonly number[]>> {
  const { rows } = await sql<{ of: string; totals: number[] }>`
    select day || ' ' || dimension as of, array[count(*), sum(sessions), sum(begun), sum(cpu_seconds), sum(mem_byte_seconds),
      sum(gpu_seconds), sum(cpu_used_seconds), sum(cpu_measured_seconds), ${sql.join(MEASURED.map(name => sql`sum(${sql.ref(name)})`))}]::float8[] as totals
    from usage_days where day = any(${days}::date[]) group by day, dimension
    union all
    select ${DAY_OF_HOUR} || ' hours', array[count(*), sum(sessions), sum(begun),
      ${sql.join(HISTORY_NAMES.map(name => sql`sum(${sql.ref(name)})`))}]::float8[]
    from usage_hours where ${isOn(days)} group by 1`.execute(trx)
  return new Map(rows.map(({ of, totals }) => [of, totals]))
}

/** The last digits of floating-point sums depend on the order of adding. */
const isSame = (one: number, other: number) => Math.abs(one - other) <= 1e-6 + 1e-9 * Math.abs(one)

/** The days on which the totals differ. */
function differentDays(
  before: ReadonlyMap<string, readonly number[]>,
  after: ReadonlyMap<string, readonly number[]>,
): Set<string> {
  const different = [...new Set([...before.keys(), ...after.keys()])].filter(key => {
    const [old, made] = [before.get(key), after.get(key)]
    return !old || !made || old.some((value, index) => !isSame(value, made[index] ?? Number.NaN))
  })
  return new Set(different.map(key => key.slice(0, 10)))
}

/** Adds the resources that the sessions held to the sums by day or by week; with `days`, only on these days. */
async function addSums(
  trx: Transaction<Database>,
  added: {
    readonly unit: 'day' | 'week'
    readonly sessions: RawBuilder<unknown>
    readonly days?: readonly string[]
  },
): Promise<void> {
  const { unit, sessions, days } = added
  const table = sql.table(`usage_${unit}s`)
  const step = sql.lit(`1 ${unit}`)
  await sql`
    with parts as (
      select ${HELD_COLUMNS}, s.interruptions, s.owner_id, s.group_id, s.domain, s.image, part.agent_id
      from ${HELD_PARTS} where ${HAS_RUN} and ${sessions}
    ), daily as (
      select parts.*, d.day, started_at >= d.start as begins,
        date_part('epoch', least(ended_at, d.stop) - greatest(started_at, d.start)) as held
      from parts cross join lateral (
        select g::date as day, g at time zone 'UTC' as start, (g + ${step}::interval) at time zone 'UTC' as stop
        from generate_series(date_trunc(${sql.lit(unit)}, started_at at time zone 'UTC'), ended_at at time zone 'UTC', ${step}::interval) g
      ) d where (ended_at > d.start or started_at >= d.start) and ${days ? sql`d.day = any(${days}::date[])` : sql`true`}
    )
    insert into ${table} (dimension, ${sql.ref(unit)}, domain, key, ${sql.join(SUMS.map(name => sql.ref(name)))})
    select dimension, day, domain, coalesce(keyed.key, ''),
      count(distinct id) filter (where interruptions = 0), count(distinct id) filter (where interruptions = 0 and begins),
      sum(cores * held), sum(mem * held), sum(gpus * held), coalesce(sum(used * held / whole), 0),
      coalesce(sum(cores * held) filter (where used is not null), 0), ${MEASURED_SUMS}
    from daily ${keyedBy(USAGE_DIMENSIONS)}
    group by 1, 2, 3, 4
    on conflict (dimension, ${sql.ref(unit)}, domain, key) do update set
      ${sql.join(SUMS.map(name => sql`${sql.ref(name)} = ${table}.${sql.ref(name)} + excluded.${sql.ref(name)}`))}`.execute(
    trx,
  )
}

/**
 * Recalculates the sums of the weeks of these days from the sums of their days. If a day of the week is still outdated, its recalculation
 * updates the week again. A session counts in a week if it ran on the first day or began on a later day.
 */
async function addWeeksOf(trx: Transaction<Database>, days: readonly string[]): Promise<void> {
  const weeks = sql`select distinct date_trunc('week', day::timestamp)::date from unnest(${days}::date[]) day`
  await sql`delete from usage_weeks where week in (${weeks})`.execute(trx)
  const sums = SUMS.filter(name => name !== 'sessions').map(name => sql`sum(${sql.ref(name)})`)
  await sql`
    insert into usage_weeks (dimension, week, domain, key, ${sql.join(SUMS.map(name => sql.ref(name)))})
    select dimension, week, domain, key, sum(case when day = week then sessions else begun end), ${sql.join(sums)}
    from (${weeks}) of_days (week) join usage_days on day between week and week + 6
    group by 1, 2, 3, 4`.execute(trx)
}
