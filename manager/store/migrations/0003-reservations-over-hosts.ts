import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Reservations on several agents, for sessions that no single one could hold. */
export const reservationsOverHosts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table reservations add column parts jsonb`.execute(db)
  },
}
