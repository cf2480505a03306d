import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Short names of images, such as `python`. */
export const imageAliases: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `create table image_aliases (
          alias text primary key,
          -- Name of an image; agents and registries come and go, so nothing refers to one.
          reference text not null,
          created_at timestamptz not null default now()
        )`,
      )
      .execute(db)
  },
}
