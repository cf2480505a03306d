import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Questions of a manager to another one for its `berth doctor`, with the answers. They live for a minute. */
export const diagnoses: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      // Written again at each question, so nothing is lost when a crash of the database empties it.
      `create unlogged table diagnoses (
        id uuid primary key,
        manager_id uuid not null,
        with_log boolean not null,
        answer text,
        asked_at timestamptz not null default now()
      )`,
      'create index diagnoses_manager on diagnoses (manager_id) where answer is null',
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
