import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** A limit on the number of files in all folders of a project together. */
export const projectFolderFiles: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table groups add column max_folder_files bigint check (max_folder_files > 0)`.execute(db)
  },
}
