import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Uploads note whether nobody but the owner of the file has any right to it. */
export const ownerOnly: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw('alter table uploads add column owner_only boolean not null default false').execute(db)
  },
}
