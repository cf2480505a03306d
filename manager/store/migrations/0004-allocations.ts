import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Resource groups with an engine, and the allocations of sessions at engines other than Berth. */
export const allocations: Migration = {
  async up(db: Kysely<unknown>) {
    await sql`alter table resource_groups add engine text not null default 'berth' check (engine in ('berth', 'slurm'))`.execute(
      db,
    )
    await sql`create table allocations (
      session_id uuid primary key references sessions on delete cascade,
      run int not null,
      name text not null,
      asked_at timestamptz not null default now(),
      -- Grant of the engine on which the session was placed.
      granted jsonb
    )`.execute(db)
  },
}
