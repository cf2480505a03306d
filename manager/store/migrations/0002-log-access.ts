import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Leave of owners for administrators to read log and start-up command of a session. */
export const logAccess: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sessions add column admins_may_read boolean not null default false`.execute(db)
  },
}
