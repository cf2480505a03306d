import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Dotfiles and start-up scripts of users, and sign-ins with an access key. */
export const homeFiles: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table dotfiles (
    user_id uuid not null references users on delete cascade,
    path text not null,
    mode text not null,
    -- Sealed: dotfiles such as .netrc hold passwords.
    sealed text not null,
    bytes integer not null,
    changed_at timestamptz not null default now(),
    primary key (user_id, path)
  )`,
  `create table bootstrap_scripts (
    user_id uuid primary key references users on delete cascade,
    sealed text not null,
    changed_at timestamptz not null default now()
  )`,
  // A sign-in with an access key ends with the keypair.
  'alter table logins add column keypair text references keypairs on delete cascade',
  'create index logins_keypair on logins (keypair) where keypair is not null',
]
