import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions that may be interrupted, the interruption under way in a resource group, and earlier runs of sessions. */
export const interruptions: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      `alter table sessions
        add column interruptible boolean not null default false,
        -- Time at which the session is stopped to make room; null while no interruption is announced.
        add column interrupt_at timestamptz,
        -- Number of runs that were interrupted.
        add column interruptions int not null default 0`,
      `create index sessions_interrupt on sessions (resource_group) where interrupt_at is not null`,
      // An earlier run's kernel whose home this kernel continues with. That kernel is in past_kernels.
      `alter table kernels add column files_of uuid`,
      `create table past_kernels (
        kernel_id uuid primary key,
        session_id uuid not null references sessions on delete cascade,
        agent_id uuid references agents,
        attempt int not null,
        container_id text,
        exit_code int,
        log_tail text,
        -- What it held, as in kernel_devices.
        devices jsonb not null,
        started_at timestamptz not null,
        ended_at timestamptz not null,
        -- Its part of the CPU time that the session used in that run; null if that is not known.
        cpu_seconds float8
      )`,
      `create index past_kernels_session on past_kernels (session_id)`,
      `create table interruptions (
        resource_group text primary key,
        session_id uuid not null references sessions on delete cascade,
        agent_id uuid not null references agents on delete cascade,
        at timestamptz not null
      )`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
