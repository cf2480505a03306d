import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * Since when somebody else may have been in an account, and when keypairs and SSH keys were changed: so that the end of that doubt
 * finds what was made meanwhile. Doubts that are older than the column have no beginning, and count from the account's.
 */
export const endOfDoubt: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'alter table users add column doubt_since timestamptz, add column ssh_key_changed_at timestamptz',
      'alter table keypairs add column activated_at timestamptz',
      'update keypairs set activated_at = created_at',
      'alter table keypairs alter column activated_at set not null, alter column activated_at set default now()',
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
