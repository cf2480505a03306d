import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Names that a session reaches if its launch chooses no network: a list, empty for none; null for as much as allowed. */
export const defaultNetwork: Migration = {
  async up(db: Kysely<unknown>) {
    for (const table of ['resource_policies', 'domains']) {
      await sql`alter table ${sql.table(table)}
        add column default_names jsonb check (jsonb_typeof(default_names) = 'array')`.execute(db)
    }
  },
}
