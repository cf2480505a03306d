import { type Kysely, sql } from 'kysely'
import { type Migration } from 'kysely/migration'

/** Messages of administrators to the owners of sessions, and the reason for which a resource group is closed. */
export const messages: Migration = {
  async up(db: Kysely<unknown>) {
    const statements = [
      `create table messages (
        id uuid primary key,
        user_id uuid not null references users on delete cascade,
        -- E-mail address of the administrator at that time.
        sender text not null,
        text text not null,
        -- Ids and names of the recipient's sessions that the message is about.
        sessions jsonb not null,
        created_at timestamptz not null default now()
      )`,
      `create index messages_user on messages (user_id, id)`,
      `alter table resource_groups add column notice text not null default ''`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
