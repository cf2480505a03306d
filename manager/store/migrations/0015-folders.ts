import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Storage hosts, folders, and the folders that sessions mount. */
export const folders: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table storage_hosts (
    name text primary key,
    -- Content of the file that proves that the storage is mounted.
    marker uuid not null unique,
    created_at timestamptz not null default now()
  )`,
  `create table folders (
    -- Also the name of its directory.
    id uuid primary key,
    name text not null,
    storage_host text not null references storage_hosts,
    user_id uuid references users,
    group_id uuid references groups,
    -- What the members of the project may do.
    permission text not null default 'rw',
    status text not null default 'ready',
    trashed_at timestamptz,
    created_at timestamptz not null default now(),
    version bigint not null default 1,
    constraint folders_one_owner check ((user_id is null) <> (group_id is null)),
    constraint folders_status check (status in ('ready', 'trashed', 'deleting')),
    constraint folders_permission check (permission in ('ro', 'rw'))
  )`,
  `create unique index folders_user_name on folders (user_id, lower(name)) where status = 'ready'`,
  `create unique index folders_group_name on folders (group_id, lower(name)) where status = 'ready'`,
  `create index folders_deleting on folders (id) where status = 'deleting'`,
  `create table session_folders (
    session_id uuid not null references sessions on delete cascade,
    -- Null once the folder was deleted.
    folder_id uuid references folders on delete set null,
    -- Of the folder, when the session was asked for.
    name text not null,
    -- Relative to the home of the session.
    path text not null,
    read_only boolean not null,
    primary key (session_id, path)
  )`,
  'create index session_folders_folder on session_folders (folder_id)',
]
