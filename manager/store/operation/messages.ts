import { type Selectable, sql } from 'kysely'
import { type Message, type SessionId, ACCOUNT_NEWS_KINDS, type UserId } from '#manager/contract'
import { newUuid } from '../new-id.ts'
import { type Db } from '../schema.ts'
import { type MessagesTable } from '../tables/operation.ts'

/** Most messages shown to one user. */
const SHOWN = 100

export interface NewMessage {
  readonly userId: UserId
  readonly sender: string
  readonly text: string
  readonly sessions: readonly { readonly id: SessionId; readonly name: string }[]
  /** Kind of a message that Berth itself sends. */
  readonly about?: NonNullable<Message['about']>
  /** Name of the subject of `about`. */
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

/** Whether somebody was told this by Berth within so many milliseconds. */
export async function hasRecentMessage(
  db: Db,
  {
    about,
    detail,
    withinMs,
  }: { readonly about: NonNullable<Message['about']>; readonly detail: string; readonly withinMs: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('messages')
    .select('id')
    .where('about', '=', about)
    .where('detail', '=', detail)
    .where('created_at', '>', sql<Date>`now() - ${withinMs} * interval '1 millisecond'`)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Messages that the user has not cleared, newest first. */
export async function listMessages(db: Db, userId: UserId): Promise<Message[]> {
  const rows = await db
    .selectFrom('messages')
    .selectAll()
    .where('user_id', '=', userId)
    .where('cleared_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(SHOWN)
    .execute()
  return rows.map(toMessage)
}

/** Messages about the account, newest first, including cleared ones. @param page `before`: id of the last message of the previous page */
export async function listAccountNews(
  db: Db,
  userId: UserId,
  { limit, before }: { readonly limit: number; readonly before?: string | undefined },
): Promise<Message[]> {
  let query = db
    .selectFrom('messages')
    .selectAll()
    .where('user_id', '=', userId)
    .where('about', 'in', ACCOUNT_NEWS_KINDS)
  if (before !== undefined) query = query.where('id', '<', sql<string>`${before}::uuid`)
  return (await query.orderBy('id', 'desc').limit(limit).execute()).map(toMessage)
}

function toMessage({ id, created_at, sender, text, sessions, about, detail }: Selectable<MessagesTable>): Message {
  return { id, at: created_at.toISOString(), from: sender, text, sessions: [...sessions], about, detail }
}

/**
 * Clears the messages to this user up to one of them; newer messages stay. Messages about the account are only marked as cleared, and are
 * deleted by age (`KEPT`).
 */
export async function clearMessages(trx: Db, userId: UserId, until: string): Promise<void> {
  const upTo = sql<boolean>`user_id = ${userId}::uuid and id <= ${until}::uuid`
  const isNews = sql<boolean>`about in (${sql.join(ACCOUNT_NEWS_KINDS)})`
  const cleared_at = sql<Date>`now()`
  await trx
    .updateTable('messages')
    .set({ cleared_at })
    .where(upTo)
    .where(isNews)
    .where('cleared_at', 'is', null)
    .execute()
  await trx
    .deleteFrom('messages')
    .where(upTo)
    .where(sql<boolean>`(${isNews}) is not true`)
    .execute()
}
