import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Limits of resource policies on the GPUs of single models. */
export const gpuLimits: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table resource_policies add column gpu_limits jsonb not null default '[]'`.execute(db)
  },
}
