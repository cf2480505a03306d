import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Accounts at providers that were linked with a password which somebody else may know are told from the person's own. */
export const doubtfulIdentities: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sign_in_identities add column doubtful boolean not null default false`.execute(db)
  },
}
