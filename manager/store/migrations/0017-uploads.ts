import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Resumable uploads into folders. */
export const uploads: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table uploads (
    -- Also the name of the file that collects its bytes, on the storage host of the folder.
    id uuid primary key,
    folder_id uuid not null references folders on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- Of the file, relative to the folder; once finished, where it was put.
    path text not null,
    size bigint not null,
    on_conflict text not null,
    -- Of the whole file, as the client announced it.
    sha256 text,
    finish_later boolean not null,
    modified_at timestamptz,
    finished boolean not null default false,
    -- Random value of the request that writes now; it holds until writer_until.
    writer uuid,
    writer_until timestamptz,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    constraint uploads_on_conflict check (on_conflict in ('fail', 'replace', 'rename'))
  )`,
  'create index uploads_user on uploads (user_id) where not finished',
  'create index uploads_folder on uploads (folder_id)',
  'create index uploads_expires on uploads (expires_at)',
]
