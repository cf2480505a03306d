import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Tickets with which browsers download files by a link. */
export const downloads: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table downloads (
    -- SHA-256 of the ticket, which only the link holds.
    ticket_hash bytea primary key,
    folder_id uuid not null references folders on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- The sign-in or keypair that asked for the ticket, which ends with it.
    login_id uuid references logins on delete cascade,
    keypair text references keypairs on delete cascade,
    -- Relative to the folder.
    paths text[] not null,
    expires_at timestamptz not null,
    constraint downloads_credential check (num_nonnulls(login_id, keypair) = 1)
  )`,
  'create index downloads_folder on downloads (folder_id)',
  'create index downloads_user on downloads (user_id)',
  'create index downloads_login on downloads (login_id)',
  'create index downloads_keypair on downloads (keypair)',
  'create index downloads_expires on downloads (expires_at)',
]
