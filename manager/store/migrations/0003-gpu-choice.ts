import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** The GPUs that sessions and presets accept; null for any. */
export const gpuChoice: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sessions add column gpu jsonb`.execute(db)
    await sql`alter table presets add column gpu jsonb`.execute(db)
  },
}
