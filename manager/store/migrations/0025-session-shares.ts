import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sessions that their owners share with members of the project. */
export const sessionShares: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table session_shares (
    session_id uuid not null references sessions on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- The project of the session. A share goes with the membership, whatever ends it.
    group_id uuid not null,
    permission text not null check (permission in ('view', 'use')),
    shared_at timestamptz not null default now(),
    primary key (session_id, user_id),
    foreign key (group_id, user_id) references group_members on delete cascade
  )`,
  'create index session_shares_member on session_shares (user_id, group_id)',
]
