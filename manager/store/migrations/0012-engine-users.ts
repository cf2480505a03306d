import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** All users of Slurm as whom allocations were ever requested. */
export const engineUsers: Migration = {
  async up(db: Kysely<unknown>) {
    // An allocation has the user of its last request only; earlier requests may be granted after it.
    await sql`create table engine_users (name text primary key)`.execute(db)
    await sql`insert into engine_users select distinct engine_user from allocations where engine_user is not null`.execute(
      db,
    )
  },
}
