/** Settings, the audit log and long tasks. */
export const operation: readonly string[] = [
  `create table settings (
    key text primary key,
    value jsonb not null
  )`,
  `create table audit_log (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    actor_id uuid,
    actor text,
    acted_as text,
    domain text,
    action text not null,
    target text,
    result text not null,
    detail jsonb not null default '{}',
    address text,
    -- Access token of the request. No reference to the token: entries outlive it.
    token text,
    token_id uuid
  )`,
  'create index audit_log_actor on audit_log (actor_id, id desc)',
  'create index audit_log_at on audit_log (at)',
  'create index audit_log_domain on audit_log (domain, id desc)',
  'create index audit_log_target on audit_log (target, id desc)',
  `create table tasks (
    id uuid primary key,
    kind text not null check (kind in ('rescan', 'pull', 'copy', 'backup', 'save', 'build')),
    target text not null,
    status text not null default 'running' check (status in ('running', 'done', 'failed', 'cancelled')),
    error jsonb not null default 'null',
    detail jsonb not null,
    started_by text not null,
    cancel_asked boolean not null default false,
    created_at timestamptz not null default now(),
    seen_at timestamptz not null default now(),
    ended_at timestamptz,
    version bigint not null default 1,
    -- Null: a task of the administration.
    user_id uuid references users on delete cascade
  )`,
  `create unique index tasks_one_backup on tasks (kind) where (kind = 'backup') and (status = 'running')`,
  `create unique index tasks_one_build on tasks (target) where (kind = 'build') and (status = 'running')`,
  `create unique index tasks_one_rescan on tasks (target) where (kind = 'rescan') and (status = 'running')`,
  // Only one image of a session is saved at a time, and only one of each name.
  `create unique index tasks_one_save on tasks (((detail ->> 'sessionId'))) where (kind = 'save') and (status = 'running')`,
  `create unique index tasks_one_saved on tasks (target) where (kind = 'save') and (status = 'running')`,
  'create index tasks_user on tasks (user_id)',
  // Unlogged: a request lives for a minute, and is simply repeated.
  `create unlogged table diagnoses (
    id uuid primary key,
    manager_id uuid not null,
    with_log boolean not null,
    answer text,
    asked_at timestamptz not null default now()
  )`,
  'create index diagnoses_manager on diagnoses (manager_id) where answer is null',
  `create table console_certificates (
    console text primary key,
    report jsonb not null,
    state text not null check (state in ('good', 'ending', 'ended', 'failed')),
    seen_at timestamptz not null default now()
  )`,
  // Rows younger than the setting `auditDays` cannot be deleted by anybody.
  `create function refuse_change() returns trigger language plpgsql as $$
    declare days int;
    begin
      if tg_op = 'DELETE' then
        select (value ->> 'auditDays')::int into days from settings where key = 'system';
        if old.at < now() - make_interval(days => days) then return old; end if;
      end if;
      raise exception 'the audit log is append-only';
    end $$`,
  `create trigger audit_log_append_only before update or delete on audit_log for each row
    execute function refuse_change()`,
]
