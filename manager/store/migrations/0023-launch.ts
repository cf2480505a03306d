import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Templates of sessions, sessions that start later, and the presets of a fresh installation. */
export const launch: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const GIB = 2 ** 30

const STATEMENTS = [
  `create table session_templates (
    user_id uuid not null references users on delete cascade,
    name text not null,
    spec jsonb not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
  )`,
  'create unique index session_templates_name on session_templates (user_id, lower(name))',
  'alter table sessions add column starts_at timestamptz',
  // Only where an administrator has made none: a list that is in use stays as it is.
  `insert into presets (name, slots)
    select name, slots::jsonb from (values
      ('Light', '{"cpu": 1000, "mem": ${2 * GIB}}'),
      ('Standard', '{"cpu": 2000, "mem": ${8 * GIB}}'),
      ('Heavy', '{"cpu": 4000, "mem": ${16 * GIB}}'),
      ('One GPU', '{"cpu": 4000, "mem": ${16 * GIB}, "cuda.device": 1}')
    ) as shipped (name, slots)
    where not exists (select from presets)`,
]
