import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * Bounds of access tokens: GPU seconds over the whole life, those of sessions that were deleted, and the only app that a token reaches. The
 * session has no foreign key: a token that names a deleted one reaches nothing, and its owner still sees what it was for.
 */
export const tokenBounds: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table logins
      add column gpu_seconds float8 check (gpu_seconds > 0),
      add column gpu_seconds_gone float8 not null default 0,
      add column app_session uuid,
      add column app_name text,
      add check ((app_session is null) = (app_name is null))`.execute(db)
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

/**
 * GPU seconds that a session took, as reports of usage count them, and that a live one may still take until its end. A live session without
 * an end has taken what it took until now.
 */
const GPU_SECONDS = `create function session_gpu_seconds(wanted uuid) returns float8 language sql stable as $$
  select (coalesce((s.requested->>'cuda.device')::float8, 0) + coalesce((s.requested->>'cuda.shares')::float8, 0) / 100) * (
    coalesce((select sum(greatest(date_part('epoch', p.ended_at - p.started_at), 1)) from past_kernels p where p.session_id = s.id), 0)
    + case
      when s.ended_at is null then s.cluster_size * coalesce(
        date_part('epoch', s.expires_at - s.started_at), s.max_lifetime_seconds, date_part('epoch', now() - s.started_at), 0)
      when s.started_at is null then 0
      else coalesce(
        (select sum(greatest(date_part('epoch', coalesce(k.ended_at, s.ended_at) - s.started_at), 1)) from kernels k where k.session_id = s.id),
        s.cluster_size * date_part('epoch', s.ended_at - s.started_at))
      end)
  from sessions s where s.id = wanted $$`

const KEEP = `create function keep_token_gpu_seconds() returns trigger language plpgsql as $$
begin
  update logins set gpu_seconds_gone = gpu_seconds_gone + session_gpu_seconds(old.id)
    where id = old.token_id and scopes is not null;
  return old;
end $$`

const STATEMENTS = [
  GPU_SECONDS,
  KEEP,
  `create trigger token_gpu_seconds before delete on sessions for each row when (old.token_id is not null)
    execute function keep_token_gpu_seconds()`,
]
