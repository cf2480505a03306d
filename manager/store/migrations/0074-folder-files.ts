import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Limits on the number of files of a folder, and of all folders of a user together. */
export const folderFiles: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      `alter table folders
        add column max_files bigint check (max_files > 0),
        -- The limit that its file system enforces now; null if Berth alone checks it.
        add column enforced_files bigint check (enforced_files > 0)`,
      `alter table resource_policies add column max_folder_files bigint check (max_folder_files > 0)`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
