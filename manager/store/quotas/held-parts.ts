import { type RawBuilder, sql } from 'kysely'

/**
 * Joins to sessions (`s`) what they held, as a row for each kernel of each run, as a kernel holds its part until it ends by itself.
 * `part.agent_id` is where it ran. A session without records of its kernels is one row with the parts of all.
 */
export const PARTS = sql`cross join lateral (
    select k.agent_id, s.started_at, greatest(coalesce(k.ended_at, s.ended_at, now()), s.started_at) as ended_at,
      case when k.id is null then s.cluster_size else 1 end as kernels,
      (select (m.stats->>'cpuSeconds')::float8 / case when k.id is null then 1 else s.cluster_size end
        from session_stats_minutes m where m.session_id = s.id order by m.minute desc limit 1) as used
    from (select 1) one left join kernels k on k.session_id = s.id
    where s.started_at is not null
    union all
    select p.agent_id, p.started_at, p.ended_at, 1, p.cpu_seconds
    from past_kernels p where s.interruptions > 0 and p.session_id = s.id
  ) part`

/** `from` clause of queries over what sessions held. */
export const HELD_PARTS = sql`sessions s ${PARTS}`

/** Whether a session can have held anything: none that has never run does. */
export const HAS_RUN = sql`(s.started_at is not null or s.interruptions > 0)`

/** Columns of such a row: when it began and ended, its amounts, and its share of the CPU time that the session used, if that is known. */
export const HELD_COLUMNS = sql`
  s.id, part.started_at, part.ended_at,
  coalesce((s.requested->>'cpu')::float8, 0) / 1000 * part.kernels as cores,
  coalesce((s.requested->>'mem')::float8, 0) * part.kernels as mem,
  (coalesce((s.requested->>'cuda.device')::float8, 0) + coalesce((s.requested->>'cuda.shares')::float8, 0) / 100)
    * part.kernels as gpus,
  part.used`

/**
 * Whether a run of a session (`s`) may have touched the time: every session that ran in it, and further ones that were interrupted.
 * The words are those of the index `sessions_ran`.
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
