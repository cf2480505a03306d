import { sql } from 'kysely'
import { type Message, type SessionId, type UserId } from '#manager/contract'
import { newUuid } from '../new-id.ts'
import { type Db } from '../schema.ts'

/** Most messages that one user is shown. */
const SHOWN = 100

export interface NewMessage {
  readonly userId: UserId
  readonly sender: string
  readonly text: string
  readonly sessions: readonly { readonly id: SessionId; readonly name: string }[]
  /** Kind of a message that Berth itself sends. */
  readonly about?: NonNullable<Message['about']>
  /** Name of what `about` is about. */
  readonly detail?: string
}

export async function insertMessages(db: Db, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return
  const values = messages.map(({ userId, sender, text, sessions, about = null, detail = '' }) => ({
    id: newUuid(),
    user_id: userId,
    sender,
    text,
    sessions: JSON.stringify(sessions),
    about,
    detail,
  }))
  await db.insertInto('messages').values(values).execute()
}

/** Newest first. */
export async function listMessages(db: Db, userId: UserId): Promise<Message[]> {
  const rows = await db
    .selectFrom('messages')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id', 'desc')
    .limit(SHOWN)
    .execute()
  return rows.map(({ id, created_at, sender, text, sessions, about, detail }) => ({
    id,
    at: created_at.toISOString(),
    from: sender,
    text,
    sessions: [...sessions],
    about,
    detail,
  }))
}

/** Deletes the messages to this user up to one of them; a message that came since stays. */
export async function deleteMessages(db: Db, userId: UserId, until: string): Promise<void> {
  await db
    .deleteFrom('messages')
    .where('user_id', '=', userId)
    .where('id', '<=', sql<string>`${until}::uuid`)
    .execute()
}
