import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** When people looked at the console, so that it can say what has changed since, on whatever computer they come back. */
export const visits: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`
      create table visits (
        user_id uuid primary key references users on delete cascade,
        since timestamptz,
        seen timestamptz not null
      )`.execute(db)
  },
}
