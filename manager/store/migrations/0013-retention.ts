import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** A column and indexes with which retention finds old rows without reading the rows that stay. */
export const retention: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  // Marks the last minute of a session, which is kept: retention skips it.
  'alter table session_stats_minutes add column settled boolean not null default false',
  'drop index session_stats_minutes_age',
  'create index session_stats_minutes_age on session_stats_minutes (minute) where not settled',
  'create index sessions_ended on sessions (ended_at) where ended_at is not null',
]
