import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Copies of files as tasks, which their users see. */
export const copies: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  'alter table tasks drop constraint tasks_kind_check',
  `alter table tasks add constraint tasks_kind_check check (kind in ('rescan', 'pull', 'copy'))`,
  // Null: a task of the administration.
  'alter table tasks add column user_id uuid references users on delete cascade',
  'create index tasks_user on tasks (user_id)',
]
