import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * Ports of apps: the person who had each of them last, those at which a console does not listen, and the browser that asked for a
 * ticket.
 */
export const appPorts: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table app_ports (
    port int primary key,
    -- Outlives the account: the next holder is another person.
    user_id uuid not null,
    left_at timestamptz not null
  )`,
  // A trigger, because places end in many ways: with their session, their account, their time.
  `create function berth_leave_app_port() returns trigger language plpgsql as $$
    begin
      insert into app_ports (port, user_id, left_at) values (old.port, old.user_id, least(now(), old.expires_at))
        on conflict (port) do update set user_id = excluded.user_id, left_at = excluded.left_at;
      return null;
    end $$`,
  ...['own_apps', 'published_apps'].map(
    table =>
      `create trigger ${table}_leave_port after delete on ${table} for each row when (old.port is not null)
        execute function berth_leave_app_port()`,
  ),
  `create table closed_app_ports (
    -- Computer and port, as in console_certificates.
    console text not null,
    port int not null,
    seen_at timestamptz not null,
    primary key (console, port)
  )`,
  // Hash of the cookie of the console's sign-in; null if the ticket was asked for without one.
  'alter table own_app_tickets add column browser_hash bytea',
]
