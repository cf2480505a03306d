import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Requests of strangers for an account, which an administrator accepts or declines. */
export const signUpRequests: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table sign_up_requests (
    id uuid primary key,
    -- In lower case.
    email text not null,
    name text not null,
    note text not null,
    domain text not null references domains on delete cascade,
    -- Of the link that confirms the address; null once it was used, and where no mail was sent.
    token_hash bytea unique,
    -- Whether administrators see the request.
    waiting boolean not null,
    -- Whether the owner of the address has opened the link.
    confirmed boolean not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
  )`,
  // One request of an address waits; several may be unconfirmed, because anybody can make them.
  'create unique index sign_up_requests_waiting on sign_up_requests (email) where waiting',
  'create index sign_up_requests_email on sign_up_requests (email)',
]
