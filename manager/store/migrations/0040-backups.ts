import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Backups as tasks, one at a time, and messages of Berth itself. */
export const backups: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'alter table tasks drop constraint tasks_kind_check',
      `alter table tasks add constraint tasks_kind_check check (kind in ('rescan', 'pull', 'copy', 'backup'))`,
      `create unique index tasks_one_backup on tasks (kind) where kind = 'backup' and status = 'running'`,
      // What Berth itself tells; null: the words of an administrator.
      `alter table messages add column about text check (about in ('backup_failed'))`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
