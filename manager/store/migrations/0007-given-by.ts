import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Linked accounts note whose mapping gave projects and a role, so that these go with the provider (ADR 45). */
export const givenBy: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sign_in_identities add column given_by text`.execute(db)
    await sql`update sign_in_identities i set given_by = (
      select p.id from sign_in_providers p where p.settings ->> 'issuer' = i.issuer order by p.created_at, p.id limit 1
    ) where given_groups <> '[]' or given_role is not null`.execute(db)
  },
}
