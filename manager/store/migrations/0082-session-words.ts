import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * The column `words` has name, image and resource group of a session in lower case, for searches. Without it each search makes three
 * texts of every session, which takes most of its time with a hundred thousand of them.
 */
export const sessionWords: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sessions add column words text not null
      generated always as (lower(name || E'\n' || image || E'\n' || resource_group)) stored`.execute(db)
  },
}
