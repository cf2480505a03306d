import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Decisions that agents made before and the manager makes now. */
export const agentTrust: Migration = {
  async up(db: Kysely<unknown>) {
    // The manager makes the ids of agents: each join string comes with one.
    await sql`alter table join_tokens add column agent_id uuid`.execute(db)
    // If the user named no amount of shared memory, the image on the agent that runs the session decides.
    await sql`alter table sessions add column shmem_from_image boolean not null default false`.execute(db)
  },
}
