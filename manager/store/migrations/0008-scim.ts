import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

const STATEMENTS: readonly string[] = [
  `create table scim_tokens (
    id uuid primary key,
    domain text not null references domains on update cascade on delete cascade,
    name text not null,
    token_hash bytea not null unique,
    -- Person whose rights are read whenever the token is used.
    created_by uuid not null references users on delete cascade,
    created_at timestamptz not null default now(),
    last_used_at timestamptz
  )`,
  'create index scim_tokens_domain on scim_tokens (domain)',
  'create index scim_tokens_created_by on scim_tokens (created_by)',
  `create table scim_users (
    user_id uuid primary key references users on delete cascade,
    -- Domain in which the row counts: an account that has moved is another one for SCIM.
    domain text not null,
    user_name text not null,
    external_id text,
    -- Names and addresses as the client sent them.
    attributes jsonb not null default '{}',
    -- Deleted by SCIM: the account is inactive, and no client sees it.
    hidden boolean not null default false,
    changed_at timestamptz not null default now()
  )`,
  'create unique index scim_users_name on scim_users (domain, lower(user_name)) where not hidden',
  `create table scim_groups (
    group_id uuid primary key references groups on delete cascade,
    external_id text,
    hidden boolean not null default false,
    changed_at timestamptz not null default now()
  )`,
]

/** Provisioning by SCIM: tokens of domains, and what clients say of accounts and projects. */
export const scim: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}
