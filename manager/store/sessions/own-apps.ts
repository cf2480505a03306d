import { sql } from 'kysely'
import { LIVE_STATUSES, type SessionId, type UserId } from '#manager/contract'
import { ACCOUNT_HOLDS } from '../identity/users.ts'
import { type Db } from '../schema.ts'

/** The address of a web app of one person. */
export interface OwnAppRow {
  readonly id: string
  readonly name: string
  readonly port: number | null
  readonly session_id: SessionId
  readonly app: string
  readonly user_id: UserId
  readonly expires_at: Date
}

/** A person's app of a session, whatever its address. */
export type OwnAppKey = Pick<OwnAppRow, 'session_id' | 'app' | 'user_id'>

const after = (ms: number) => sql<Date>`now() + ${ms} * interval '1 millisecond'`

/** Open addresses: of a live session that their user may still use, with an active account. */
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

/** Whether the sign-in belongs to this user and is still valid. */
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

/** Ended addresses occupy names and ports until they are deleted. */
export async function deleteEndedOwnApps(db: Db): Promise<void> {
  const open = selectOpen(db).clearSelect().select('o.id')
  await db.deleteFrom('own_apps').where('id', 'not in', open).execute()
}

export async function deleteOwnApp(db: Db, id: string): Promise<void> {
  await db.deleteFrom('own_apps').where('id', '=', id).execute()
}

export async function countOwnAppsOf(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('own_apps')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Deletes a person's app address that was opened longest ago and that no browser uses: it has no grant (browsers renew it until ten minutes
 * after their last request) and no unused ticket. @returns false if all are in use
 */
export async function deleteUnusedOwnApp(db: Db, userId: UserId): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('own_apps')
    .where('id', '=', eb =>
      eb
        .selectFrom('own_apps as o')
        .select('o.id')
        .where('o.user_id', '=', userId)
        .where(
          sql<boolean>`not exists (select from grants g where g.user_id = o.user_id and g.session_id = o.session_id
            and g.app = o.app and g.login_id is not null and g.expires_at > now())`,
        )
        .where(sql<boolean>`not exists (select from own_app_tickets t where t.own_app = o.id and t.expires_at > now())`)
        .orderBy('o.expires_at')
        .limit(1),
    )
    .executeTakeFirst()
  return numDeletedRows > 0n
}

export async function insertAppTicket(
  db: Db,
  ticket: {
    readonly hash: Buffer
    readonly ownApp: string
    readonly loginId: string
    readonly browserHash: Buffer | null
    readonly lifetimeMs: number
  },
): Promise<void> {
  const { hash, ownApp, loginId, browserHash } = ticket
  await db
    .insertInto('own_app_tickets')
    .values({
      ticket_hash: hash,
      own_app: ownApp,
      login_id: loginId,
      browser_hash: browserHash,
      expires_at: after(ticket.lifetimeMs),
    })
    .execute()
}

/**
 * Consumes a ticket. @param browsers hashes of the cookies of the browser that presents it: one must belong to the browser that requested
 * it; `any` accepts any browser @returns the sign-in that requested it; undefined if there is no such ticket for the address, or not for
 * the browser
 */
export async function takeAppTicket(
  db: Db,
  { hash, ownApp, browsers }: { hash: Buffer; ownApp: string; browsers: readonly Buffer[] | 'any' },
): Promise<string | undefined> {
  if (browsers !== 'any' && browsers.length === 0) return undefined
  let query = db
    .deleteFrom('own_app_tickets')
    .where('ticket_hash', '=', hash)
    .where('own_app', '=', ownApp)
    .where('expires_at', '>', sql<Date>`now()`)
  if (browsers !== 'any') query = query.where('browser_hash', 'in', browsers)
  return (await query.returning('login_id').executeTakeFirst())?.login_id
}

/** The e-mail address of the ticket's owner; undefined if there is no such ticket for the address. */
export async function findTicketHolder(db: Db, hash: Buffer, ownApp: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('own_app_tickets as t')
    .innerJoin('own_apps as o', 'o.id', 't.own_app')
    .innerJoin('users as u', 'u.id', 'o.user_id')
    .select('u.email')
    .where('t.ticket_hash', '=', hash)
    .where('t.own_app', '=', ownApp)
    .where('t.expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row?.email
}
