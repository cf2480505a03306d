import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Places of web apps for browsers of the people who may use a session, and the tickets with which these enter. */
export const ownApps: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table own_apps (
    id uuid primary key,
    -- Label of the host name, where apps are at names; part of the cookie's name everywhere.
    name text not null unique,
    -- Set where apps are at ports. A port of a published app is never used here too.
    port int unique,
    session_id uuid not null references sessions on delete cascade,
    app text not null,
    user_id uuid not null references users on delete cascade,
    expires_at timestamptz not null,
    unique (session_id, app, user_id)
  )`,
  `create table own_app_tickets (
    ticket_hash bytea primary key,
    own_app uuid not null references own_apps on delete cascade,
    login_id uuid not null references logins on delete cascade,
    expires_at timestamptz not null
  )`,
  'create index own_app_tickets_app on own_app_tickets (own_app)',
  'create index own_app_tickets_login on own_app_tickets (login_id)',
]
