import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Limits of projects on the GPUs of single models. */
export const gpuLimitsOfProjects: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table groups add column gpu_limits jsonb not null default '[]'`.execute(db)
  },
}
