import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Whether the app that a port had last was of another person's session: its page rests for the person who left the port, too. */
export const portsOfOthers: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'alter table app_ports add column of_other boolean not null default false',
      // A session that is deleted already may have been anybody's.
      `create or replace function berth_leave_app_port() returns trigger language plpgsql as $$
        begin
          insert into app_ports (port, user_id, left_at, of_other)
            values (old.port, old.user_id, least(now(), old.expires_at),
              not exists (select from sessions where id = old.session_id and owner_id = old.user_id))
            on conflict (port) do update
              set user_id = excluded.user_id, left_at = excluded.left_at, of_other = excluded.of_other;
          return null;
        end $$`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
