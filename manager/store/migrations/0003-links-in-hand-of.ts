import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Links that an administrator passes on note whose hand they are in, and end with that person's right (ADR 60). */
export const linksInHandOf: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table email_tokens add column in_hand_of uuid references users on delete cascade`.execute(db)
  },
}
