import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * A port rests for its person also where the app was of an own session that others used, or whose command an administrator chose. The
 * session that left it has it at once: its page can do nothing there that the session cannot.
 */
export const portsOthersReach: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      // Outlives the session, like the account.
      'alter table app_ports add column session_id uuid',
      `create or replace function berth_leave_app_port() returns trigger language plpgsql as $$
        begin
          insert into app_ports (port, user_id, left_at, of_other, session_id)
            values (old.port, old.user_id, least(now(), old.expires_at),
              not exists (select from sessions where id = old.session_id and owner_id = old.user_id
                and launched_by is null and used_by_others_at is null), old.session_id)
            on conflict (port) do update
              set user_id = excluded.user_id, left_at = excluded.left_at, of_other = excluded.of_other,
                session_id = excluded.session_id;
          return null;
        end $$`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
