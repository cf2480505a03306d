import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** A note about an account, and the requirement to choose a new password at the next sign-in. */
export const accountNotes: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table users
      add column description text not null default '',
      add column must_change_password boolean not null default false`.execute(db)
  },
}
