import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions that go on with what another one has left behind. */
export const files: Migration = {
  async up(db: Kysely<unknown>) {
    // The kernel whose home this session takes over.
    await sql`alter table sessions add column files_of uuid references kernels on delete set null`.execute(db)
    // Nobody takes the same home twice; whoever ended before they ran has given it back.
    await sql`create unique index sessions_files_of on sessions (files_of)
      where files_of is not null
        and (started_at is not null or status not in ('TERMINATED', 'CANCELLED', 'ERROR'))`.execute(db)
  },
}
