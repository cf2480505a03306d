import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Tags and notes of sessions. */
export const sessionLabels: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `alter table sessions add column tags jsonb not null default '[]', add column note text not null default ''`,
  // Most sessions have no tags, and are not in the index.
  `create index sessions_tags on sessions using gin (tags jsonb_path_ops) where tags <> '[]'`,
]
