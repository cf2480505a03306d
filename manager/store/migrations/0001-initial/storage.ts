/** Storage hosts, folders, uploads and downloads. */
export const storage: readonly string[] = [
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
    -- Permission of the members of the project.
    permission text not null default 'rw',
    status text not null default 'ready',
    trashed_at timestamptz,
    created_at timestamptz not null default now(),
    version bigint not null default 1,
    max_bytes bigint check (max_bytes > 0),
    -- The limit that its file system enforces now; null if Berth alone checks it.
    enforced_bytes bigint check (enforced_bytes > 0),
    usage_mode text not null default 'general',
    max_files bigint check (max_files > 0),
    -- The limit that its file system enforces now; null if Berth alone checks it.
    enforced_files bigint check (enforced_files > 0),
    constraint folders_one_owner check ((user_id is null) <> (group_id is null)),
    constraint folders_permission check (permission in ('ro', 'rw', 'delete')),
    constraint folders_status check (status in ('ready', 'trashed', 'deleting'))
  )`,
  `create index folders_deleting on folders (id) where status = 'deleting'`,
  `create unique index folders_group_name on folders (group_id, lower(name)) where status = 'ready'`,
  `create unique index folders_user_name on folders (user_id, lower(name)) where status = 'ready'`,
  `create table folder_members (
    folder_id uuid not null references folders on delete cascade,
    user_id uuid not null references users on delete cascade,
    permission text not null check (permission in ('ro', 'rw', 'delete')),
    joined_at timestamptz not null default now(),
    -- When the right was given, or changed last.
    changed_at timestamptz not null default now(),
    primary key (folder_id, user_id)
  )`,
  'create index folder_members_user on folder_members (user_id)',
  `create table folder_invitations (
    id uuid primary key,
    folder_id uuid not null references folders on delete cascade,
    -- An address, not a user: whether it has an account shows nowhere.
    email text not null,
    permission text not null check (permission in ('ro', 'rw', 'delete')),
    invited_by uuid not null references users on delete cascade,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    -- When the right was given, or changed last.
    changed_at timestamptz not null default now()
  )`,
  'create index folder_invitations_email on folder_invitations (lower(email))',
  'create index folder_invitations_inviter on folder_invitations (invited_by)',
  'create unique index folder_invitations_one on folder_invitations (folder_id, lower(email))',
  `create table folder_usage (
    folder_id uuid primary key references folders on delete cascade,
    -- Null: the count took too long.
    bytes bigint,
    files bigint,
    measured_at timestamptz not null default now(),
    took_ms bigint not null
  )`,
  `create table folder_clones (
    folder_id uuid primary key references folders on delete cascade,
    -- Renewed by the manager that copies.
    alive_at timestamptz not null default now()
  )`,
  `create table session_folders (
    session_id uuid not null references sessions on delete cascade,
    -- Null once the folder was deleted.
    folder_id uuid references folders on delete set null,
    -- Name of the folder when the session was asked for.
    name text not null,
    -- Relative to the home of the session.
    path text not null,
    read_only boolean not null,
    added boolean not null default false,
    pending text check (pending in ('mount', 'unmount')),
    primary key (session_id, path)
  )`,
  'create unique index session_folders_added on session_folders (session_id, folder_id) where added',
  'create index session_folders_folder on session_folders (folder_id)',
  `create table uploads (
    -- Also the name of the file that collects its bytes, on the storage host of the folder.
    id uuid primary key,
    folder_id uuid not null references folders on delete cascade,
    user_id uuid not null references users on delete cascade,
    -- Path of the file, relative to the folder; once finished, where it was put.
    path text not null,
    size bigint not null,
    on_conflict text not null,
    -- Checksum of the whole file, as the client announced it.
    sha256 text,
    finish_later boolean not null,
    modified_at timestamptz,
    finished boolean not null default false,
    -- Random value of the request that writes now; it holds until writer_until.
    writer uuid,
    writer_until timestamptz,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    executable boolean,
    -- Bytes that came, and when: announced bytes hold room for a while only (ADR 30).
    received bigint not null default 0,
    moved_at timestamptz not null default now(),
    -- Whether nobody but the owner of the file has any right to it.
    owner_only boolean not null default false,
    constraint uploads_on_conflict check (on_conflict in ('fail', 'replace', 'rename'))
  )`,
  'create index uploads_expires on uploads (expires_at)',
  'create index uploads_folder on uploads (folder_id)',
  'create index uploads_user on uploads (user_id) where not finished',
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
  'create index downloads_expires on downloads (expires_at)',
  'create index downloads_folder on downloads (folder_id)',
  'create index downloads_keypair on downloads (keypair)',
  'create index downloads_login on downloads (login_id)',
  'create index downloads_user on downloads (user_id)',
]
