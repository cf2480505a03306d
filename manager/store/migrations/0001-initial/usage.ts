/** Columns of a session that determine how much usage it adds, and to which sums. */
const COUNTED = ['owner_id', 'group_id', 'domain', 'image', 'requested', 'cluster_size', 'started_at', 'ended_at']
const rowOf = (version: 'old' | 'new') => `(${COUNTED.map(column => `${version}.${column}`).join(', ')})`

/** Sums of usage, from which reports are calculated. */
export const usage: readonly string[] = [
  // Sums by day of UTC of the resources that ended sessions held, by each dimension of a report (`quotas/usage-days.ts`). Rows without the
  // dimension have the key ''.
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
    gpu_used_seconds float8 not null default 0,
    gpu_measured_seconds float8 not null default 0,
    mem_used_byte_seconds float8 not null default 0,
    mem_measured_byte_seconds float8 not null default 0,
    primary key (dimension, day, domain, key)
  )`,
  // Sums by hour of UTC, of which the days of every time zone with whole hours consist. `sessions` and `begun` are as in `usage_days`. Half
  // of each page stays free: rows change many times, and each new version of a row fits on its page. Without this, the table would grow to
  // five times the size of its rows.
  `create table usage_hours (
    hour timestamptz not null,
    domain text not null,
    sessions int not null,
    begun int not null,
    cpu_seconds float8 not null,
    mem_byte_seconds float8 not null,
    gpu_seconds float8 not null,
    cpu_used_seconds float8 not null,
    cpu_measured_seconds float8 not null,
    gpu_used_seconds float8 not null,
    gpu_measured_seconds float8 not null,
    mem_used_byte_seconds float8 not null,
    mem_measured_byte_seconds float8 not null,
    read_bytes float8 not null,
    written_bytes float8 not null,
    received_bytes float8 not null,
    sent_bytes float8 not null,
    primary key (hour, domain)
  ) with (fillfactor = 50)`,
  // Sums by week of UTC, named by its Monday. `sessions` and `begun` are as in `usage_days`; pages have free space as in `usage_hours`.
  `create table usage_weeks (
    dimension text not null,
    week date not null,
    domain text not null,
    key text not null,
    sessions int not null,
    begun int not null,
    cpu_seconds float8 not null,
    mem_byte_seconds float8 not null,
    gpu_seconds float8 not null,
    cpu_used_seconds float8 not null,
    cpu_measured_seconds float8 not null,
    gpu_used_seconds float8 not null,
    gpu_measured_seconds float8 not null,
    mem_used_byte_seconds float8 not null,
    mem_measured_byte_seconds float8 not null,
    primary key (dimension, week, domain, key)
  ) with (fillfactor = 50)`,
  // Days whose sums are outdated. Rows are only added and removed, never updated: a transaction that recalculates a sum must not remove the
  // row of a concurrent change.
  `create table usage_recounts (
    id bigint generated always as identity primary key,
    first_day date not null,
    last_day date not null
  )`,
  // A trigger, because sums must not miss a change, however it is made.
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
