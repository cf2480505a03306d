import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Whether an uploaded file may be run; null if the client does not say: then the file that it replaces decides. */
export const uploadExecutable: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw('alter table uploads add column executable boolean').execute(db)
  },
}
