import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Measured sizes of folders. */
export const folderUsage: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table folder_usage (
    folder_id uuid primary key references folders on delete cascade,
    -- Null: the count took too long.
    bytes bigint,
    files bigint,
    measured_at timestamptz not null default now(),
    took_ms bigint not null
  )`,
]
