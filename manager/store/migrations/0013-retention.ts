import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** What deleting old rows needs to find them without looking at those that stay. */
export const retention: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  // The last minute of its session, which stays: retention does not look at it again.
  'alter table session_stats_minutes add column settled boolean not null default false',
  'drop index session_stats_minutes_age',
  'create index session_stats_minutes_age on session_stats_minutes (minute) where not settled',
  'create index sessions_ended on sessions (ended_at) where ended_at is not null',
]
