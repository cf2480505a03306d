import { type RawBuilder, sql } from 'kysely'
import { type UsageReportQuery } from '#manager/contract'

export type UsageDimension = UsageReportQuery['by']

/**
 * Joins sessions (`s`) with the resources that they held: one row (`part`) for each kernel of each run, because each kernel holds its part
 * until it ends. `part.agent_id` is the agent it ran on. A session without records of its kernels is one row for all of them. `part.stats`
 * are the last statistics of the run, summed over `part.among` kernels.
 */
export const PARTS = sql`cross join lateral (
    select k.agent_id, s.started_at, greatest(coalesce(k.ended_at, s.ended_at, now()), s.started_at) as ended_at,
      case when k.id is null then s.cluster_size else 1 end as kernels,
      case when k.id is null then 1 else s.cluster_size end as among,
      (last.stats->>'cpuSeconds')::float8 / case when k.id is null then 1 else s.cluster_size end as used, last.stats
    from (select 1) one left join kernels k on k.session_id = s.id
      left join lateral (
        select m.stats from session_stats_minutes m where m.session_id = s.id order by m.minute desc limit 1) last on true
    where s.started_at is not null
    union all
    select p.agent_id, p.started_at, p.ended_at, 1, s.cluster_size, p.cpu_seconds, p.stats
    from past_kernels p where s.interruptions > 0 and p.session_id = s.id
  ) part`

/** `from` clause of queries over the resources that sessions held. */
export const HELD_PARTS = sql`sessions s ${PARTS}`

const KEYS: Readonly<Record<UsageDimension, RawBuilder<unknown>>> = {
  user: sql`owner_id::text`,
  project: sql`group_id::text`,
  domain: sql`domain`,
  image: sql`image`,
  agent: sql`agent_id::text`,
}

/**
 * Repeats each held row for each of these dimensions, as `keyed.dimension` and `keyed.key`. The key is null for a session without
 * the dimension, such as one whose project was deleted. All kernels of a session run on one agent.
 */
export const keyedBy = (dimensions: readonly UsageDimension[]): RawBuilder<unknown> => sql`cross join lateral (
    values ${sql.join(dimensions.map(by => sql`(${sql.lit(by)}, ${KEYS[by]})`))}) keyed (dimension, key)`

/** Whether a session has run: otherwise it never held anything. */
export const HAS_RUN = sql`(s.started_at is not null or s.interruptions > 0)`

const GPUS = sql`((coalesce((s.requested->>'cuda.device')::float8, 0) + coalesce((s.requested->>'cuda.shares')::float8, 0) / 100)
    * part.kernels)`
const WHOLE = sql`greatest(date_part('epoch', part.ended_at - part.started_at), 1)`
const total = (name: string) => sql`(part.stats->'sums'->>${sql.lit(name)})::float8`
/** Fraction of the row's time for which there are statistics, null without any: a kernel may end long before the session. */
const known = (seconds: RawBuilder<unknown>) =>
  sql`(case when ${seconds} is not null then least(1, ${seconds} / ${WHOLE}) end)`

/**
 * Columns of a held row: when it began and ended, its length, its amounts, and its share of the session's CPU time, if known. `gpus_known`
 * and `mem_known` are the amounts held while there were statistics, and `gpus_used` and `mem_used` the used part of these, averages over
 * the row; null without statistics.
 */
export const HELD_COLUMNS = sql`
  s.id, part.started_at, part.ended_at, ${WHOLE} as whole,
  coalesce((s.requested->>'cpu')::float8, 0) / 1000 * part.kernels as cores,
  coalesce((s.requested->>'mem')::float8, 0) * part.kernels as mem,
  ${GPUS} as gpus, part.used,
  ${GPUS} * ${known(total('gpuSeconds'))} as gpus_known,
  ${GPUS} * ${known(total('gpuSeconds'))} * ${total('gpuUsedSeconds')} / nullif(${total('gpuSeconds')}, 0) as gpus_used,
  coalesce((s.requested->>'mem')::float8, 0) * part.kernels * ${known(total('seconds'))} as mem_known,
  ${total('memByteSeconds')} / part.among / nullif(${total('seconds')}, 0) * ${known(total('seconds'))} as mem_used`

/** Bytes that a row read, wrote, received and sent: additional columns beside `HELD_COLUMNS`. */
export const IO_COLUMNS = sql.join(
  (['diskReadBytes', 'diskWriteBytes', 'netRxBytes', 'netTxBytes'] as const).map(
    (name, at) =>
      sql`(part.stats->>${sql.lit(name)})::float8 / part.among as ${sql.ref(['io_read', 'io_written', 'io_received', 'io_sent'][at] ?? '')}`,
  ),
)

/** Sums of measured and used amounts over rows; `held` is the number of seconds of a row within the period. */
export const MEASURED_SUMS = sql`
  coalesce(sum(gpus_used * held), 0) as gpu_used_seconds, coalesce(sum(gpus_known * held), 0) as gpu_measured_seconds,
  coalesce(sum(mem_used * held), 0) as mem_used_byte_seconds, coalesce(sum(mem_known * held), 0) as mem_measured_byte_seconds`

/** Names of the columns of `MEASURED_SUMS`. */
export const MEASURED = [
  'gpu_used_seconds',
  'gpu_measured_seconds',
  'mem_used_byte_seconds',
  'mem_measured_byte_seconds',
] as const
export type MeasuredSums = Readonly<Record<(typeof MEASURED)[number], number>>

/**
 * Whether a run of a session (`s`) may overlap the period: true for every session that ran in it, and for any interrupted session. Written
 * like the index `sessions_ran`, so that the index is used.
 */
export const ranWithin = ({
  from,
  to,
}: {
  readonly from: RawBuilder<unknown>
  readonly to: RawBuilder<unknown>
}) => sql`(
  s.started_at is not null
    and tstzrange(s.started_at, greatest(s.started_at, coalesce(s.ended_at, timestamptz 'infinity')), '[]') && tstzrange(${from}, ${to})
  or s.interruptions > 0)`
