import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Members of folders, invitations to become one, and the permission to delete. */
export const folderMembers: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  'alter table folders drop constraint folders_permission',
  `alter table folders add constraint folders_permission check (permission in ('ro', 'rw', 'delete'))`,
  `create table folder_members (
    folder_id uuid not null references folders on delete cascade,
    user_id uuid not null references users on delete cascade,
    permission text not null check (permission in ('ro', 'rw', 'delete')),
    joined_at timestamptz not null default now(),
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
    expires_at timestamptz not null
  )`,
  'create unique index folder_invitations_one on folder_invitations (folder_id, lower(email))',
  'create index folder_invitations_email on folder_invitations (lower(email))',
  'create index folder_invitations_inviter on folder_invitations (invited_by)',
]
