import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions that continue with the home directory of an ended session. */
export const files: Migration = {
  async up(db: Kysely<unknown>) {
    // Kernel whose home directory this session takes over.
    await sql`alter table sessions add column files_of uuid references kernels on delete set null`.execute(db)
    // At most one session takes over a home. A session that ended before it ran has given the home back.
    await sql`create unique index sessions_files_of on sessions (files_of)
      where files_of is not null
        and (started_at is not null or status not in ('TERMINATED', 'CANCELLED', 'ERROR'))`.execute(db)
  },
}
