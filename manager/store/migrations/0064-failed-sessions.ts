import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** An index of the sessions that may have failed: those with an error, and batch jobs whose command has ended. */
export const failedSessions: Migration = {
  async up(db: Kysely<unknown>) {
    // The condition is a part of `hasFailed` in `session-list.ts`.
    await sql`create index sessions_failed on sessions (id desc) where
      status = 'ERROR' or status = 'TERMINATED' and kind = 'batch' and reason->>'code' = 'exited'`.execute(db)
  },
}
