import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Images that only some domains may use. */
export const imageDomains: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `create table image_domains (
          -- Name of an image; agents and registries come and go, so nothing refers to one.
          reference text primary key,
          -- Domains that may use the image; none: only superadmins may. A domain that is deleted stays in the list, so that the
          -- image does not open to others with the last one.
          domains text[] not null,
          created_at timestamptz not null default now()
        )`,
      )
      .execute(db)
  },
}
