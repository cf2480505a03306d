import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Limits of domains on the GPUs of single models. */
export const gpuLimitsOfDomains: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table domains add column gpu_limits jsonb not null default '[]'`.execute(db)
  },
}
