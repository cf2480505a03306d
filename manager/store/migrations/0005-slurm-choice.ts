import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** What sessions choose in Slurm, and when the time limits of their jobs end them. */
export const slurmChoice: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sessions add column slurm jsonb, add column slurm_ends_at timestamptz`.execute(db)
  },
}
