import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Linked accounts note which version of a mapping they were judged by, so that a change is carried out a few at a time, and goes on after a stop (ADR 45). */
export const givenVersions: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'alter table sign_in_providers add column mapping_version int not null default 1',
      'alter table sign_in_identities add column given_version int',
      'update sign_in_identities set given_version = 1 where given_by in (select id from sign_in_providers)',
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
