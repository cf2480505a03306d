import { type RawBuilder, sql } from 'kysely'
import { IDLE_GPU_PERCENT, type KernelId, type SessionId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type KeptMinute, type StatsMinute, type StatsSums } from '../tables/operation.ts'

export interface SessionMinute {
  readonly sessionId: SessionId
  readonly stats: KeptMinute
  /** GPUs that the session holds, such as 0.25; left out for whole ones. */
  readonly heldGpus?: number | undefined
}

/**
 * Writes the statistics of one minute in one statement. If a row for the minute exists (another manager observed it, or this one was
 * restarted in it), the record with more kernels, then with more samples, stays, with the larger totals and the kernels of both.
 *
 * @param ageMs how long ago the middle of the minute was; the database's clock decides which minute that is
 */
export async function insertMinutes(db: Db, minutes: readonly SessionMinute[], ageMs: number): Promise<void> {
  if (minutes.length === 0) return
  const ids = minutes.map(({ sessionId }) => sessionId)
  const stats = minutes.map(minute => JSON.stringify(minute.stats))
  const idle = minutes.map(isGpuIdle)
  const own = minutes.map(minute => JSON.stringify(sumsOf(minute)))
  const at = sql`date_trunc('minute', now() - ${ageMs} * interval '1 millisecond')`
  await sql`
    with idle as (
      -- Rows change only when GPUs begin or stop to do nothing.
      update sessions s set gpu_idle_since = case when v.idle then ${at} end
      from (select unnest(${ids}::uuid[]) as id, unnest(${idle}::boolean[]) as idle) v
      where s.id = v.id and v.idle = (s.gpu_idle_since is null)
    )
    insert into session_stats_minutes as m (session_id, minute, stats)
    select s.id, ${at}, v.stats || jsonb_build_object('sums', (
        select jsonb_object_agg(key, value::float8 + coalesce((before.sums->>key)::float8, 0)) from jsonb_each_text(v.own)))
    from (select unnest(${ids}::uuid[]) as id, unnest(${stats}::text[])::jsonb as stats, unnest(${own}::text[])::jsonb as own) v
      join sessions s on s.id = v.id
      left join lateral (
        select b.stats->'sums' as sums from session_stats_minutes b
        where b.session_id = s.id and b.minute < ${at}
          and (s.interruptions = 0 or b.minute >= date_trunc('minute', s.started_at))
        order by b.minute desc limit 1) before on true
    on conflict (session_id, minute) do update set stats = case
        when ${coverage(sql`excluded.stats`)} >= ${coverage(sql`m.stats`)} then excluded.stats else m.stats
      end || jsonb_strip_nulls(jsonb_build_object(
        'cpuSeconds', greatest((excluded.stats->>'cpuSeconds')::float8, (m.stats->>'cpuSeconds')::float8),
        'memPeakBytes', greatest((excluded.stats->>'memPeakBytes')::float8, (m.stats->>'memPeakBytes')::float8)
      )) || case when m.stats ? 'kernels' and excluded.stats ? 'kernels' then jsonb_build_object('kernels', (m.stats->'kernels') || (
        -- A kernel that only the other manager measured keeps its means.
        select jsonb_object_agg(key, coalesce(m.stats->'kernels'->key, '{}') || value) from jsonb_each(excluded.stats->'kernels')
      )) else '{}' end`.execute(db)
}

/** How much of a minute is measured: its kernels first, then its seconds. */
const coverage = (stats: RawBuilder<unknown>) => sql`(
  (select count(*) from jsonb_each(${stats}->'kernels') where value->'samples' is not null), (${stats}->>'samples')::int)`

/** Whether every GPU is known to have done nothing for the session in the minute. Unknown use is no idleness. */
export function isGpuIdle(minute: SessionMinute): boolean {
  const { gpus } = minute.stats
  const share = shareOf(minute)
  return (
    gpus.length > 0 && gpus.every(({ utilization }) => utilization !== null && utilization < IDLE_GPU_PERCENT * share)
  )
}

/** Part of each of its GPUs that a session holds, a mean: 1 for whole ones. */
const shareOf = ({ stats: { gpus }, heldGpus = gpus.length }: SessionMinute) =>
  heldGpus > 0 ? Math.min(1, heldGpus / Math.max(1, gpus.length)) : 1

/**
 * Amounts that a minute adds to the sums of its session. Of several GPUs, the mean counts; GPUs of unknown use are not measured. A
 * session may use more of a GPU's time than its share, but no more than its share counts as used.
 */
export function sumsOf(minute: SessionMinute): StatsSums {
  const { samples, memBytes, gpus } = minute.stats
  const known = gpus.flatMap(({ utilization }) => utilization ?? [])
  const part = gpus.length === 0 ? 0 : samples / gpus.length
  const share = shareOf(minute)
  return {
    seconds: samples,
    memByteSeconds: memBytes * samples,
    gpuSeconds: known.length * part,
    gpuUsedSeconds: known.reduce((sum, percent) => sum + Math.min(1, percent / 100 / share), 0) * part,
  }
}

export interface StoredMinute {
  readonly at: Date
  readonly stats: StatsMinute
}

/**
 * Oldest first; each minute covers all kernels of the session together, or the named one of several. Minutes of an older version have no
 * figures of single kernels and are left out then.
 */
export async function listMinutes(
  db: Db,
  { id, kernel }: { id: SessionId; kernel?: KernelId | undefined },
  from: Date,
  to: Date,
): Promise<StoredMinute[]> {
  const stats =
    kernel === undefined
      ? sql<StatsMinute>`stats - 'kernels' - 'sums'`
      : sql<StatsMinute>`stats->'kernels'->${kernel}::text`
  return db
    .selectFrom('session_stats_minutes')
    .select(['minute as at', stats.as('stats')])
    .where('session_id', '=', id)
    .$if(kernel !== undefined, query => query.where(sql`${stats}->'samples'`, 'is not', null))
    .where('minute', '>=', from)
    .where('minute', '<', to)
    .orderBy('minute')
    .execute()
}

/** The last minute of each session that has one; its totals are the usage of the session. One index look-up per session. */
export async function readLastMinutes(db: Db, ids: readonly SessionId[]): Promise<Map<SessionId, KeptMinute>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: SessionId; stats: KeptMinute }>`
    select i.id, m.stats from unnest(${ids}::uuid[]) as i(id)
    cross join lateral (
      select m.stats from session_stats_minutes m join sessions s on s.id = m.session_id
      -- Counters of a run that was interrupted are kept with its kernels.
      where m.session_id = i.id and (s.interruptions = 0 or m.minute >= date_trunc('minute', s.started_at))
      order by m.minute desc limit 1
    ) m`.execute(db)
  return new Map(rows.map(row => [row.id, row.stats]))
}
