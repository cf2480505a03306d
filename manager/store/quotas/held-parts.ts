import { sql } from 'kysely'

/**
 * `from` clause of queries over what sessions held: a row for each kernel (`k`) of a session (`s`), as a kernel holds its part until it
 * ends by itself. A session without records of its kernels is one row with the parts of all.
 */
export const HELD_PARTS = sql`sessions s
  left join kernels k on k.session_id = s.id
  cross join lateral (
    select case when k.id is null then s.cluster_size else 1 end as kernels,
      case when k.id is null then 1 else s.cluster_size end as share
  ) part`

/** Columns of such a row: when it began and ended, its amounts, and its share of the CPU time that the session used, if that is known. */
export const HELD_COLUMNS = sql`
  s.id, s.started_at, greatest(coalesce(k.ended_at, s.ended_at, now()), s.started_at) as ended_at,
  coalesce((s.requested->>'cpu')::float8, 0) / 1000 * part.kernels as cores,
  coalesce((s.requested->>'mem')::float8, 0) * part.kernels as mem,
  (coalesce((s.requested->>'cuda.device')::float8, 0) + coalesce((s.requested->>'cuda.shares')::float8, 0) / 100)
    * part.kernels as gpus,
  (select (m.stats->>'cpuSeconds')::float8 / part.share from session_stats_minutes m
    where m.session_id = s.id order by m.minute desc limit 1) as used`
