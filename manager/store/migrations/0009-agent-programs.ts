import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Programs of agents, their updates, and the program that agents get. */
export const agentPrograms: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table agents
      -- As the agent reports it; null for agents of an older version.
      add program jsonb,
      -- Update that is wanted, in progress or failed.
      add program_update jsonb`.execute(db)
    await sql`create table agent_target (
      one boolean primary key default true check (one),
      version text not null,
      digest text not null
    )`.execute(db)
  },
}
