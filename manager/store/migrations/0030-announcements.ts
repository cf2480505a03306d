import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Announcements that users have dismissed. */
export const announcements: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `create table dismissed_announcements (
          user_id uuid primary key references users on delete cascade,
          -- Id of the announcement: only one is shown at a time, so only the last one is kept.
          announcement text not null
        )`,
      )
      .execute(db)
  },
}
