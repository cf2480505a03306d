import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Images of sessions: requests that wait for a superadmin, and the task that makes one. */
export const sessionImages: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table image_requests (
    id uuid primary key,
    session_id uuid not null unique references sessions on delete cascade,
    reference text not null unique,
    title text,
    note text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  'alter table tasks drop constraint tasks_kind_check',
  `alter table tasks add constraint tasks_kind_check check (kind in ('rescan', 'pull', 'copy', 'backup', 'save'))`,
  // One image of a session at a time, and one of a name.
  `create unique index tasks_one_save on tasks ((detail ->> 'sessionId')) where kind = 'save' and status = 'running'`,
  `create unique index tasks_one_saved on tasks (target) where kind = 'save' and status = 'running'`,
]
