import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Folders that are being filled with a copy of another folder. */
export const folderClones: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table folder_clones (
    folder_id uuid primary key references folders on delete cascade,
    -- Renewed by the manager that copies.
    alive_at timestamptz not null default now()
  )`,
]
