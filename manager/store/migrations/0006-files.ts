import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions that go on with what another one has left behind. */
export const files: Migration = {
  async up(db: Kysely<unknown>) {
    // The kernel whose home this session takes over.
    await sql`alter table sessions add column files_of uuid references kernels on delete set null`.execute(db)
    // Nobody takes the same home twice; also what deleting a kernel looks through.
    await sql`create unique index sessions_files_of on sessions (files_of)
      where files_of is not null and status not in ('CANCELLED', 'ERROR')`.execute(db)
  },
}
