import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Folders that were added to running sessions, and changes that their agents have not confirmed. */
export const addedFolders: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table session_folders
      add column added boolean not null default false,
      add column pending text check (pending in ('mount', 'unmount'))`.execute(db)
    await sql`create unique index session_folders_added on session_folders (session_id, folder_id) where added`.execute(
      db,
    )
  },
}
