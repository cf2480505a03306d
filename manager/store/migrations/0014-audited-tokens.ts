import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Access tokens in the audit log. */
export const auditedTokens: Migration = {
  async up(db: Kysely<unknown>) {
    // No reference to the token: entries outlive it.
    await sql`alter table audit_log add column token text, add column token_id uuid`.execute(db)
  },
}
