import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Settings with which the launch dialog of a user begins when an image is chosen. */
export const imageDefaults: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `create table image_defaults (
          user_id uuid not null references users on delete cascade,
          image text not null,
          settings jsonb not null,
          changed_at timestamptz not null default now(),
          primary key (user_id, image)
        )`,
      )
      .execute(db)
  },
}
