import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Whether superadmins were told that no session can start on the host: so that each fault, and its end, is told once by all managers. */
export const hostFaults: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table agents add column fault_told boolean not null default false`.execute(db)
  },
}
