import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Links in the hand of a superadmin, and the last time that somebody else got a way into an account (ADR 75). */
export const seenByOthers: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'alter table users add column handed_at timestamptz',
      'update users set handed_at = doubt_since',
      'alter table email_tokens drop constraint email_tokens_password_from_check',
      `alter table email_tokens add constraint email_tokens_password_from_check
        check (password_from in ('person', 'superadmin', 'unknown'))`,
      // A message about the account, which its reader has put away and which stays for a while.
      'alter table messages add column cleared_at timestamptz',
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
