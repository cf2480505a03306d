import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** A keypair has a name, by which its owner knows what it is for; empty for those from before. */
export const namesOfKeypairs: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw(`alter table keypairs add column name text not null default ''`).execute(db)
  },
}
