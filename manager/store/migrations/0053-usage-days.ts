import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sums of usage by day, from which reports of long periods are added up; `quotas/usage-days.ts` keeps them. */
export const usageDays: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

/** When a session began and ended its last run; open at the end while it runs. Queries need the same words to use the index. */
const RAN = `tstzrange(started_at, greatest(started_at, coalesce(ended_at, timestamptz 'infinity')), '[]')`

/** Changes of these columns change what a session counts for, and in which sums. */
const COUNTED = ['owner_id', 'group_id', 'domain', 'image', 'requested', 'cluster_size', 'started_at', 'ended_at']
const rowOf = (version: 'old' | 'new') => `(${COUNTED.map(column => `${version}.${column}`).join(', ')})`

const STATEMENTS = [
  // A day of UTC: what ended sessions held on it, by each dimension of a report. Rows without the dimension have the key ''.
  `create table usage_days (
    dimension text not null,
    day date not null,
    domain text not null,
    key text not null,
    -- Sessions that ran on the day, and those of them that began on it. Sessions that were interrupted are not among them:
    -- they may run, wait and run again, so that a report has to count them one by one.
    sessions int not null,
    begun int not null,
    cpu_seconds float8 not null,
    mem_byte_seconds float8 not null,
    gpu_seconds float8 not null,
    cpu_used_seconds float8 not null,
    cpu_measured_seconds float8 not null,
    primary key (dimension, day, domain, key)
  )`,
  // Days whose sums are no longer true. Rows are only added and removed, never updated: a sum that is made while another
  // transaction changes a session must not remove the row of that change.
  `create table usage_recounts (
    id bigint generated always as identity primary key,
    first_day date not null,
    last_day date not null
  )`,
  // Whether the sums contain the session. A report adds the others one by one.
  'alter table sessions add column usage_summed boolean not null default false',
  'create index sessions_not_summed on sessions (ended_at) where not usage_summed',
  `create index sessions_ran on sessions using gist (${RAN}) where started_at is not null`,
  'create index sessions_interrupted on sessions (id) where interruptions > 0',
  `create function berth_recount_usage() returns trigger language plpgsql as $$
    begin
      insert into usage_recounts (first_day, last_day)
      select (least(old.started_at, min(p.started_at)) at time zone 'UTC')::date,
        (greatest(coalesce(old.ended_at, now()), max(p.ended_at)) at time zone 'UTC')::date
      from past_kernels p where p.session_id = old.id
      having least(old.started_at, min(p.started_at)) is not null;
      if tg_op = 'DELETE' then return old; end if;
      new.usage_summed := false;
      return new;
    end $$`,
  `create trigger sessions_recount_changed before update on sessions for each row
    when (old.usage_summed and (not new.usage_summed or ${rowOf('old')} is distinct from ${rowOf('new')}))
    execute function berth_recount_usage()`,
  `create trigger sessions_recount_deleted before delete on sessions for each row
    when (old.usage_summed) execute function berth_recount_usage()`,
  `create function berth_recount_kernel() returns trigger language plpgsql as $$
    begin
      -- The lock keeps a sum that is made now from missing this change.
      perform from sessions where id = old.session_id and ended_at is not null for no key update;
      update sessions set usage_summed = false where id = old.session_id and usage_summed;
      return null;
    end $$`,
  `create trigger kernels_recount after update on kernels for each row
    when ((old.agent_id, old.ended_at) is distinct from (new.agent_id, new.ended_at))
    execute function berth_recount_kernel()`,
]
