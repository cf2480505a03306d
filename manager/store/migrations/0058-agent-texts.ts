import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Keys of the texts about an agent, so that pages show them in their language. */
export const agentTexts: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table agents add column problem_by jsonb, add column network_isolation_reason_by jsonb`.execute(db)
  },
}
