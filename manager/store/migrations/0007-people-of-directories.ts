import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Accounts that came with a linked account at a provider, and people who are gone from their directory. */
export const peopleOfDirectories: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`
      alter table sign_in_identities
        -- The account was made for the linked one, or linked by its address: it goes with the person of the directory.
        add column owns boolean not null default false,
        -- When the directory was first found not to have the person any more; null while it has.
        add column gone_at timestamptz,
        -- The account was deactivated for that reason, and becomes active when the person is back.
        add column deactivated boolean not null default false`.execute(db)
  },
}
