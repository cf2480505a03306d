import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Resource groups with settings of their own, and the one reservation of each. */
export const resourceGroups: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table resource_groups (
    name text primary key,
    description text not null default '',
    sequencer text not null default 'fifo' check (sequencer in ('fifo', 'lifo', 'drf')),
    selector text not null default 'concentrated' check (selector in ('concentrated', 'dispersed', 'round-robin')),
    options jsonb not null default '{}',
    active boolean not null default true,
    created_at timestamptz not null default now(),
    version bigint not null default 1
  )`,
  // Names in use so far become resource groups. From now on a group must exist before it can be named.
  `insert into resource_groups (name)
    select 'default' union select resource_group from agents union select resource_group from sessions
    union select resource_group from join_tokens`,
  `create table reservations (
    resource_group text primary key,
    session_id uuid not null references sessions on delete cascade,
    agent_id uuid not null references agents on delete cascade,
    devices jsonb not null,
    created_at timestamptz not null default now()
  )`,
]
