import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** What a folder is for: `general`, `data` or `model`. */
export const folderUsageMode: Migration = {
  async up(db: Kysely<unknown>) {
    await sql.raw(`alter table folders add column usage_mode text not null default 'general'`).execute(db)
  },
}
