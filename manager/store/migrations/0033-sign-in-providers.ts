import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Sign-in by OpenID Connect. */
export const signInProviders: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  // False: nobody knows a password of the account, which a sign-in at a provider made.
  'alter table users add column password_set boolean not null default true',
  `create table sign_in_providers (
    id text primary key,
    settings jsonb not null,
    sealed_secret text,
    created_at timestamptz not null default now(),
    version int not null default 1
  )`,
  `create table sign_in_identities (
    issuer text not null,
    subject text not null,
    user_id uuid not null references users on delete cascade,
    email text not null,
    -- What the mapping of groups gave at the last sign-in, and may take back.
    given_groups jsonb not null default '[]',
    given_role text,
    role_before text,
    created_at timestamptz not null default now(),
    last_used_at timestamptz not null default now(),
    primary key (issuer, subject),
    unique (user_id, issuer)
  )`,
  `create table sign_in_attempts (
    state_hash bytea primary key,
    secret_hash bytea not null,
    -- Set once the browser has come back.
    code_hash bytea unique,
    provider text not null references sign_in_providers on delete cascade,
    sealed text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
]
