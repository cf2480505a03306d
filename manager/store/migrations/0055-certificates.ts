import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Certificates that the consoles present, as they report them. */
export const certificates: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      `create table console_certificates (
        console text primary key,
        report jsonb not null,
        state text not null check (state in ('good', 'ending', 'ended', 'failed')),
        seen_at timestamptz not null default now()
      )`,
      'alter table messages drop constraint messages_about_check',
      `alter table messages add constraint messages_about_check check (about in ('backup_failed', 'certificate'))`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
