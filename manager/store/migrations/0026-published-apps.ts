import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Apps that are open to people without an account. */
export const publishedApps: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table published_apps (
    id uuid primary key,
    -- Label of the host name, where apps are published at names.
    name text not null unique,
    -- Set where apps are published at ports.
    port int unique,
    session_id uuid not null references sessions on delete cascade,
    app text not null,
    user_id uuid not null references users on delete cascade,
    password_hash text,
    addresses jsonb not null default '[]',
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    visits bigint not null default 0,
    last_visit_at timestamptz
  )`,
  'create index published_apps_session on published_apps (session_id)',
  'create index published_apps_user on published_apps (user_id)',
  `alter table grants add column published_app uuid references published_apps on delete cascade`,
  'alter table grants drop constraint grants_check',
  'alter table grants add constraint grants_credential check (num_nonnulls(login_id, keypair, published_app) = 1)',
]
