import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Links to apps that have ended, and what made each join string. */
const STATEMENTS: readonly string[] = [
  `create table ended_published_apps (
    id uuid primary key,
    name text not null,
    port int,
    why text not null,
    ended_at timestamptz not null default now()
  )`,
  'create index ended_published_apps_name on ended_published_apps (name)',
  'create index ended_published_apps_port on ended_published_apps (port, ended_at) where port is not null',
  // A trigger, because a link ends in many ways: it is withdrawn, its session or account is deleted, or its time is over.
  `create function berth_end_published_app() returns trigger language plpgsql as $$
    begin
      insert into ended_published_apps (id, name, port, ended_at, why)
        values (old.id, old.name, old.port, least(now(), old.expires_at), case
          when old.expires_at <= now() then 'expired'
          when exists (select from sessions where id = old.session_id
            and status not in ('TERMINATING', 'TERMINATED', 'CANCELLED', 'ERROR')) then 'withdrawn'
          else 'app_ended' end)
        on conflict (id) do nothing;
      return null;
    end $$`,
  `create trigger published_apps_end after delete on published_apps for each row
    execute function berth_end_published_app()`,
  `alter table join_tokens
    -- Sign-in or keypair with which it was made, which may have ended since; both null for one of this computer's own agent.
    add column login_id uuid, add column keypair text`,
]

export const endsOfLinks: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}
