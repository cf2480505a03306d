import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * Linked accounts note whose mapping gave projects and a role, so that these go with the provider (ADR 45). Uploads note when they moved
 * and how far, so that announced bytes hold room for a while only (ADR 30).
 */
export const bounds: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'alter table sign_in_identities add column given_by text',
      `update sign_in_identities i set given_by = (
        select p.id from sign_in_providers p where p.settings ->> 'issuer' = i.issuer order by p.created_at, p.id limit 1
      ) where given_groups <> '[]' or given_role is not null`,
      'alter table uploads add column received bigint not null default 0',
      'alter table uploads add column moved_at timestamptz not null default now()',
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
