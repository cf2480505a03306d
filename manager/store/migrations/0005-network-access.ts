import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Names that sessions may reach: a list, empty for none; null for no limit. */
export const networkAccess: Migration = {
  async up(db: Kysely<unknown>) {
    for (const table of ['sessions', 'resource_policies', 'domains']) {
      await sql`alter table ${sql.table(table)}
        add column allowed_names jsonb check (jsonb_typeof(allowed_names) = 'array')`.execute(db)
    }
  },
}
