import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * The administrator who launched a session for its owner. An address, like `session_events.actor`: the session must not become one that
 * its owner launched when the account of the administrator is removed or renamed. Sessions of older versions take it from their first
 * event, where its actor is another account of today.
 */
export const launchedBy: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sessions add column launched_by text`.execute(db)
    await sql`update sessions s set launched_by = e.actor
      from session_events e join users a on a.email = e.actor
      where e.session_id = s.id and e.from_status is null and a.id <> s.owner_id`.execute(db)
  },
}
