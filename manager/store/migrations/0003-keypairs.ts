import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Keypairs, with which scripts sign requests; a session records the keypair that created it. */
export const keypairs: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table keypairs (
    access_key text primary key check (access_key ~ '^AKIA[A-Z2-7]{16}$'),
    user_id uuid not null references users,
    sealed_secret text not null,
    active boolean not null default true,
    rate_limit integer not null check (rate_limit > 0),
    created_at timestamptz not null default now(),
    last_used_at timestamptz
  )`,
  'create index keypairs_user on keypairs (user_id, access_key)',
  // No cascade: it must stay known who made a session, so a keypair that made one cannot be deleted.
  'alter table sessions add column keypair text references keypairs',
  'create index sessions_keypair on sessions (keypair) where keypair is not null',
]
