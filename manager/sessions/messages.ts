import { z } from 'zod'
import { AppError, because, LIVE_STATUSES, type Message, type MessageSpec, type UserId } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Mailer } from '../mail/mailer.ts'
import { messageMail } from '../mail/texts.ts'
import { type Settings } from '../settings/settings.ts'
import { clearMessages, insertMessages, listAccountNews, listMessages } from '../store/operation/messages.ts'
import { type Store } from '../store/open-store.ts'
import { listSessions } from '../store/sessions/session-list.ts'
import { findSessions, type OwnedSessionRow } from '../store/sessions/sessions.ts'
import { administers, type Caller, visibleTo } from '../users/authorize.ts'

/**
 * Messages of administrators to the owners of sessions.
 *
 * Threat model: an administrator writes only to owners of sessions in their own domain. A text has a maximum length and no control
 * characters, and is shown as plain text in the page and in mails, so that it contains no markup or hidden link.
 */
export interface Messages {
  /** @throws AppError `session_not_found` for a session that the caller does not administer */
  send(caller: Caller, spec: MessageSpec): Promise<{ recipients: number; mailed: boolean }>
  list(caller: Caller): Promise<Message[]>
  /**
   * Clears messages up to the given one. Those about the account stay in its news, so that an intruder in the account cannot remove the
   * traces.
   */
  clear(caller: Caller, until: string): Promise<void>
  /** Messages about the caller's account, newest first, including cleared ones. @throws AppError `bad_request` (cursor) */
  listAccountNews(
    caller: Caller,
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<{ items: Message[]; nextCursor: string | null }>
}

/** An agent holds fewer sessions than this. */
const MOST_ON_AGENT = 5_000

export interface MessagesDeps {
  readonly store: Store
  readonly settings: Pick<Settings, 'read'>
  readonly mailer: Pick<Mailer, 'post'>
  readonly events: EventPublisher
}

export function createMessages({ store, settings, mailer, events }: MessagesDeps): Messages {
  async function sessionsOf(caller: Caller, { sessionIds, agentId }: MessageSpec): Promise<readonly OwnedSessionRow[]> {
    if (agentId !== undefined) {
      const rows = await listSessions(
        store.db,
        { visible: visibleTo(caller), statuses: LIVE_STATUSES, agentId },
        { limit: MOST_ON_AGENT },
      )
      return rows.filter(({ domain }) => administers(caller, domain))
    }
    const ids = [...new Set(sessionIds)]
    const rows = (await findSessions(store.db, ids)).filter(({ domain }) => administers(caller, domain))
    const found = new Set(rows.map(({ id }) => id))
    const missing = ids.find(id => !found.has(id))
    if (missing !== undefined) throw new AppError('session_not_found', { sessionId: missing })
    return rows
  }

  const tell = (userId: UserId) => events.publish({ topic: 'message', id: userId, version: store.now() }, { userId })

  return {
    async send(caller, spec) {
      const byOwner = Map.groupBy(await sessionsOf(caller, spec), ({ owner_id }) => owner_id)
      const owners = [...byOwner].map(([userId, rows]) => ({
        userId,
        email: rows[0]?.owner_email ?? '',
        sessions: rows.map(({ id, name }) => ({ id, name })),
      }))
      await store.transaction(trx =>
        insertMessages(
          trx,
          owners.map(({ userId, sessions }) => ({ userId, sessions, sender: caller.email, text: spec.text })),
        ),
      )
      for (const { userId } of owners) tell(userId)
      const { mailReady } = await settings.read()
      if (mailReady) {
        for (const { email, sessions } of owners) {
          mailer.post(
            messageMail(email, { from: caller.email, text: spec.text, names: sessions.map(({ name }) => name) }),
          )
        }
      }
      return { recipients: owners.length, mailed: mailReady }
    },
    list: ({ userId }) => listMessages(store.db, userId),
    async listAccountNews({ userId }, { limit, cursor }) {
      if (cursor !== undefined && !z.uuid().safeParse(cursor).success) {
        throw new AppError('bad_request', because('cursor_wrong'))
      }
      const rows = await listAccountNews(store.db, userId, { limit: limit + 1, before: cursor })
      const items = rows.slice(0, limit)
      return { items, nextCursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
    },
    async clear({ userId }, until) {
      await store.transaction(trx => clearMessages(trx, userId, until))
      // Hides them in the other windows of this person too.
      tell(userId)
    },
  }
}
