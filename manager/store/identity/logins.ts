import { type Selectable, sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db, type LoginsTable, type UsersTable } from '../schema.ts'
import { ACCOUNT_HOLDS } from './users.ts'

export interface NewLogin {
  readonly id: string
  readonly userId: UserId
  readonly tokenHash: Buffer
  readonly kind: 'browser' | 'token'
  readonly label: string | null
  readonly address: string
  /** Ends when unused for so long. */
  readonly idleSeconds: number
  /** Ends in any case. */
  readonly maxSeconds: number
}

const seconds = (amount: number) => sql<Date>`now() + make_interval(secs => ${amount})`

/** When the sign-in ends if it is not used. */
export async function insertLogin(db: Db, login: NewLogin): Promise<Date> {
  const { expires_at } = await db
    .insertInto('logins')
    .values({
      id: login.id,
      user_id: login.userId,
      token_hash: login.tokenHash,
      kind: login.kind,
      label: login.label,
      address: login.address,
      expires_at: sql<Date>`least(${seconds(login.idleSeconds)}, ${seconds(login.maxSeconds)})`,
      ends_at: seconds(login.maxSeconds),
      idle_seconds: login.idleSeconds,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}

/** A sign-in that holds now, with its user. */
export type LiveLogin = Pick<Selectable<LoginsTable>, 'id' | 'kind' | 'expires_at'> & {
  readonly user: Selectable<UsersTable>
  /** Used more than a minute ago: worth a write. */
  readonly stale: boolean
}

/** Undefined if the token is unknown or over, or its user or their domain inactive. */
export async function findLiveLogin(db: Db, tokenHash: Buffer): Promise<LiveLogin | undefined> {
  const row = await db
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .selectAll('users')
    .select(['logins.id as login_id', 'logins.kind', 'logins.expires_at'])
    .select(sql<boolean>`logins.last_used_at < now() - interval '1 minute'`.as('stale'))
    .where('token_hash', '=', tokenHash)
    .where(ACCOUNT_HOLDS)
    .where(sql<boolean>`least(logins.expires_at, logins.ends_at) > now()`)
    .executeTakeFirst()
  if (!row) return undefined
  const { login_id, kind, expires_at, stale, ...user } = row
  return { id: login_id, kind, expires_at, stale, user }
}

/** The one of these hashes that belongs to a sign-in, over or not. */
export async function findTokenHash(db: Db, hashes: readonly Buffer[]): Promise<Buffer | undefined> {
  const row = await db.selectFrom('logins').select('token_hash').where('token_hash', 'in', hashes).executeTakeFirst()
  return row?.token_hash
}

const USED = {
  last_used_at: sql<Date>`now()`,
  expires_at: sql<Date>`least(now() + make_interval(secs => idle_seconds), ends_at)`,
}

/** Notes the use; a sign-in with an idle limit lives on for that long, but never beyond its end. */
export async function touchLogin(db: Db, id: string): Promise<Date | undefined> {
  const row = await db.updateTable('logins').set(USED).where('id', '=', id).returning('expires_at').executeTakeFirst()
  return row?.expires_at
}

/** The sign-in with which a tunnel is used lives on as with any other use. */
export async function touchLoginOfGrant(db: Db, grantId: string): Promise<void> {
  await db
    .updateTable('logins')
    .set(USED)
    .where('id', '=', eb => eb.selectFrom('grants').select('login_id').where('grants.id', '=', grantId))
    .where(sql<boolean>`expires_at > now()`)
    .execute()
}

/** Sign-ins that ended by time, not long ago. */
export async function listExpiredLogins(db: Db, now: Date): Promise<string[]> {
  const rows = await db
    .selectFrom('logins')
    .select('id')
    .where(sql<boolean>`least(expires_at, ends_at) <= ${now}::timestamptz`)
    .execute()
  return rows.map(row => row.id)
}

/** Of these the ones that hold, as do their accounts. */
export async function listLiveLogins(db: Db, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .select('logins.id')
    .where('logins.id', 'in', ids)
    .where('expires_at', '>', sql<Date>`now()`)
    .where(ACCOUNT_HOLDS)
    .execute()
  return new Set(rows.map(row => row.id))
}

/** Ids of the sign-ins that ended. */
export async function deleteLogins(
  db: Db,
  which: { id: string } | { userId: UserId; except?: string | undefined } | { domain: string },
): Promise<string[]> {
  let query = db.deleteFrom('logins').returning('id')
  if ('id' in which) query = query.where('id', '=', which.id)
  else if ('domain' in which) {
    query = query.where('user_id', 'in', eb =>
      eb.selectFrom('users').select('users.id').where('domain', '=', which.domain),
    )
  } else {
    query = query.where('user_id', '=', which.userId)
    if (which.except !== undefined) query = query.where('id', '<>', which.except)
  }
  return (await query.execute()).map(row => row.id)
}

export async function insertTicket(
  db: Db,
  ticket: { hash: Buffer; userId: UserId; lifetimeSeconds: number },
): Promise<void> {
  await db
    .insertInto('sign_in_tickets')
    .values({ ticket_hash: ticket.hash, user_id: ticket.userId, expires_at: seconds(ticket.lifetimeSeconds) })
    .execute()
}

/** Whose it is; whether it is good still, `takeTicket` says. */
export async function findTicketUser(db: Db, hash: Buffer): Promise<UserId | undefined> {
  const query = db.selectFrom('sign_in_tickets').select('user_id').where('ticket_hash', '=', hash)
  return (await query.executeTakeFirst())?.user_id
}

/** The user of a ticket that was good, once: of two that use it at the same time one gets nothing. */
export async function takeTicket(db: Db, hash: Buffer): Promise<UserId | undefined> {
  const row = await db
    .deleteFrom('sign_in_tickets')
    .where('ticket_hash', '=', hash)
    .returning(['user_id', sql<boolean>`expires_at > now()`.as('good')])
    .executeTakeFirst()
  return row?.good ? row.user_id : undefined
}

export async function deleteTickets(db: Db, userId: UserId): Promise<void> {
  await db.deleteFrom('sign_in_tickets').where('user_id', '=', userId).execute()
}

/** Before anybody has signed in on a new database: one account, and no sign-in of it. */
export async function isFirstStart(db: Db): Promise<boolean> {
  const { rows } = await sql<{ first: boolean }>`
    select not exists (select from logins) and (select count(*) from users) <= 1 as first`.execute(db)
  return rows[0]?.first ?? false
}
