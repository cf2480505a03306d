import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Traces of others in an account: rights that were raised, sessions that others used, and what a keypair has set (ADR 67). */
export const tracesOfOthers: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      // When a right was given, or changed last.
      'alter table folder_members add column changed_at timestamptz not null default now()',
      'update folder_members set changed_at = joined_at',
      'alter table folder_invitations add column changed_at timestamptz not null default now()',
      'update folder_invitations set changed_at = created_at',
      'alter table session_shares add column changed_at timestamptz not null default now()',
      'update session_shares set changed_at = shared_at',
      'alter table sessions add column used_by_others_at timestamptz',
      `update sessions set used_by_others_at = used.since from (
        select session_id, min(shared_at) as since from session_shares where permission = 'use' group by session_id
      ) used where used.session_id = sessions.id`,
      // An access key; it outlives its keypair, so that it can be named.
      'alter table bootstrap_scripts add column set_by_access_key text',
      'alter table dotfiles add column set_by_access_key text',
      'alter table users add column ssh_key_set_by_access_key text',
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
