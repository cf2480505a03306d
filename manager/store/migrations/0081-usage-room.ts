import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/**
 * Leaves room on the pages of the sums by hour and by week. Such a sum changes many times; a new version of its row that finds room on
 * the same page takes the place of an old one. Before, the table of weeks grew to five times the size of its rows. Pages that are full
 * already stay so. A sum by day changes seldom: with room its table is larger than without.
 */
export const usageRoom: Migration = {
  async up(db: Kysely<unknown>) {
    for (const table of ['usage_hours', 'usage_weeks'])
      await sql`alter table ${sql.table(table)} set (fillfactor = 50)`.execute(db)
  },
}
