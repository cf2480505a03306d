import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** A limit on the size of all folders of a project together. */
export const projectFolderSize: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table groups add column max_folder_bytes bigint check (max_folder_bytes > 0)`.execute(db)
  },
}
