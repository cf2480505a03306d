import { sql } from 'kysely'
import { LIVE_STATUSES, type SessionId, type UserId } from '#manager/contract'
import { ACCOUNT_HOLDS } from '../identity/users.ts'
import { type Db } from '../schema.ts'

/** The place of a web app of one person. */
export interface OwnAppRow {
  readonly id: string
  readonly name: string
  readonly port: number | null
  readonly session_id: SessionId
  readonly app: string
  readonly user_id: UserId
  readonly expires_at: Date
}

/** A person's app of a session, whatever its place. */
export type OwnAppKey = Pick<OwnAppRow, 'session_id' | 'app' | 'user_id'>

const after = (ms: number) => sql<Date>`now() + ${ms} * interval '1 millisecond'`

/** Places that are open: of a live session that their user may still use, with an active account. */
function selectOpen(db: Db) {
  return db
    .selectFrom('own_apps as o')
    .innerJoin('sessions as s', 's.id', 'o.session_id')
    .innerJoin('users', 'users.id', 'o.user_id')
    .selectAll('o')
    .where('o.expires_at', '>', sql<Date>`now()`)
    .where('s.status', 'in', LIVE_STATUSES)
    .where(
      sql<boolean>`(s.owner_id = o.user_id or exists (
        select from session_shares m where m.session_id = s.id and m.user_id = o.user_id and m.permission = 'use'))`,
    )
    .where(ACCOUNT_HOLDS)
}

/** @param place the name or the port */
export function findOwnAppAt(db: Db, place: string): Promise<OwnAppRow | undefined> {
  const query = selectOpen(db)
  return (
    /^\d+$/.test(place) ? query.where('o.port', '=', Number(place)) : query.where('o.name', '=', place)
  ).executeTakeFirst()
}

export function findOwnApp(db: Db, key: OwnAppKey): Promise<OwnAppRow | undefined> {
  return selectOpen(db)
    .where('o.session_id', '=', key.session_id)
    .where('o.app', '=', key.app)
    .where('o.user_id', '=', key.user_id)
    .executeTakeFirst()
}

/** Whether the sign-in is one of this user and still lasts. */
export async function isLoginOf(db: Db, loginId: string, userId: UserId): Promise<boolean> {
  const row = await db
    .selectFrom('logins')
    .select('id')
    .where('id', '=', loginId)
    .where('user_id', '=', userId)
    .where(sql<boolean>`least(expires_at, ends_at) > now()`)
    .executeTakeFirst()
  return row !== undefined
}

export async function extendOwnApp(db: Db, id: string, lifetimeMs: number): Promise<void> {
  await db
    .updateTable('own_apps')
    .set({ expires_at: after(lifetimeMs) })
    .where('id', '=', id)
    .execute()
}

export type NewOwnApp = Omit<OwnAppRow, 'expires_at'> & { readonly lifetimeMs: number }

export async function insertOwnApp(db: Db, { lifetimeMs, ...row }: NewOwnApp): Promise<void> {
  await db
    .insertInto('own_apps')
    .values({ ...row, expires_at: after(lifetimeMs) })
    .execute()
}

/** Deletes a place, and those that have ended: they hold names and ports until then. */
export async function deleteOwnApps(db: Db, key: OwnAppKey): Promise<void> {
  const open = selectOpen(db).clearSelect().select('o.id')
  await db
    .deleteFrom('own_apps')
    .where(eb =>
      eb.or([
        eb('id', 'not in', open),
        eb.and([eb('session_id', '=', key.session_id), eb('app', '=', key.app), eb('user_id', '=', key.user_id)]),
      ]),
    )
    .execute()
}

export async function insertAppTicket(
  db: Db,
  ticket: { readonly hash: Buffer; readonly ownApp: string; readonly loginId: string; readonly lifetimeMs: number },
): Promise<void> {
  const values = { ticket_hash: ticket.hash, own_app: ticket.ownApp, login_id: ticket.loginId }
  await db
    .insertInto('own_app_tickets')
    .values({ ...values, expires_at: after(ticket.lifetimeMs) })
    .execute()
}

/** Uses up a ticket. @returns the sign-in that asked for it; undefined if there is no such ticket for the place any more */
export async function takeAppTicket(db: Db, hash: Buffer, ownApp: string): Promise<string | undefined> {
  const row = await db
    .deleteFrom('own_app_tickets')
    .where('ticket_hash', '=', hash)
    .where('own_app', '=', ownApp)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('login_id')
    .executeTakeFirst()
  return row?.login_id
}
