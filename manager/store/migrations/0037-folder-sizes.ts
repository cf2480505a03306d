import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Limits on the size of a folder, and of all folders of a user together. */
export const folderSizes: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      `alter table folders
        add column max_bytes bigint check (max_bytes > 0),
        -- The limit that its file system enforces now; null if Berth alone checks it.
        add column enforced_bytes bigint check (enforced_bytes > 0)`,
      `alter table resource_policies add column max_folder_bytes bigint check (max_folder_bytes > 0)`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
