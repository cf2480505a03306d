import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions that run the program of their image. */
export const imageCommand: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw('alter table sessions add column run_image_command boolean not null default false').execute(db)
  },
}
