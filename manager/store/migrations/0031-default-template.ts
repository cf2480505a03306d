import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** The template with which the launch dialog of a user begins. */
export const defaultTemplate: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  'alter table session_templates add column is_default boolean not null default false',
  'create unique index session_templates_default on session_templates (user_id) where is_default',
]
