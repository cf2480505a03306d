import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Users of Slurm to whom the allocations of sessions belong. */
export const slurmUsers: Migration = {
  async up(db: Kysely<unknown>) {
    // The engine's user; null: the user who runs the manager.
    await sql`alter table allocations add column engine_user text`.execute(db)
  },
}
