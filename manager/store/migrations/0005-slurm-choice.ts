import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Choices of sessions in Slurm, and the ends of their jobs by the time limit. */
export const slurmChoice: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sessions add column slurm jsonb, add column slurm_ends_at timestamptz`.execute(db)
  },
}
