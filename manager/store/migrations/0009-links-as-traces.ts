import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions whose apps were published before links left a note of it: their visitors were others, too (ADR 67). */
export const linksAsTraces: Migration = {
  async up(db: Kysely<unknown>) {
    await sql
      .raw(
        `update sessions set used_by_others_at = least(used_by_others_at, published.since) from (
          select session_id, min(created_at) as since from published_apps group by session_id
        ) published where published.session_id = sessions.id`,
      )
      .execute(db)
  },
}
