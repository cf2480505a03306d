import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sign-ins at providers that were begun are kept by network, where the oldest makes room (ADR 74). */
export const attemptsByNetwork: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table sign_in_attempts add column network text not null default ''`.execute(db)
    await sql`create index on sign_in_attempts (network, created_at)`.execute(db)
  },
}
