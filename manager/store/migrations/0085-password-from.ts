import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Passwords that a superadmin chose are told from those of other administrators, and links know whose hands they passed through. */
export const passwordFrom: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      'alter table users drop constraint users_password_from_check',
      `alter table users add constraint users_password_from_check
        check (password_from in ('person', 'superadmin', 'administrator', 'unknown'))`,
      `alter table email_tokens add column password_from text not null default 'unknown'
        check (password_from in ('person', 'unknown'))`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
