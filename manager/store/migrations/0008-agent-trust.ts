import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** What agents decided that the manager decides now. */
export const agentTrust: Migration = {
  async up(db: Kysely<unknown>) {
    // The manager makes the ids of agents: each join string comes with one.
    await sql`alter table join_tokens add column agent_id uuid`.execute(db)
    // Shared memory that nobody asked for follows the image on the agent that runs the session.
    await sql`alter table sessions add column shmem_from_image boolean not null default false`.execute(db)
  },
}
