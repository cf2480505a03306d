import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Hosts that leave. */
export const hostsThatLeave: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table agents add removal jsonb`.execute(db)
  },
}
