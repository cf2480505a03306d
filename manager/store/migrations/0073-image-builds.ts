import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Tasks that build an image on an agent; one of a name at a time. */
export const imageBuilds: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of [
      'alter table tasks drop constraint tasks_kind_check',
      `alter table tasks add constraint tasks_kind_check
        check (kind in ('rescan', 'pull', 'copy', 'backup', 'save', 'build'))`,
      `create unique index tasks_one_build on tasks (target) where kind = 'build' and status = 'running'`,
    ])
      await sql.raw(statement).execute(db)
  },
}
