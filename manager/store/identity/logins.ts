import { type Selectable, sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type LoginsTable, type UsersTable } from '../tables/accounts.ts'
import { ACCOUNT_HOLDS } from './users.ts'

export interface NewLogin {
  readonly id: string
  readonly userId: UserId
  readonly tokenHash: Buffer
  readonly kind: 'browser' | 'token'
  readonly label: string | null
  readonly address: string
  /** The sign-in ends after this time without use. */
  readonly idleSeconds: number
  /** The sign-in ends after this time, used or not. */
  readonly maxSeconds: number
  /** Access key of the keypair with which the sign-in was made. */
  readonly keypair: string | null
}

/**
 * Most sign-ins of a person at once, including expired ones: ending an account deletes them all in one transaction. Sign-ins with keypairs
 * have a limit of their own, so that a stolen keypair does not end other sign-ins; each keypair has a limit within it.
 */
export const MOST_LOGINS = { ofPerson: 200, withKeypairs: 200, withOneKeypair: 50 } as const
/** Most rows per statement, because statements have a time limit. */
const ENDED_AT_ONCE = 1_000
const seconds = (amount: number) => sql<Date>`now() + make_interval(secs => ${amount})`

/** @returns when the sign-in ends if it is not used */
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
      keypair: login.keypair,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}

/** A valid sign-in, with its user. */
export type LiveLogin = Pick<Selectable<LoginsTable>, 'id' | 'kind' | 'label' | 'expires_at' | 'keypair' | 'scopes'> & {
  readonly user: Selectable<UsersTable>
  /**
   * True if this use should be recorded: the last recorded one is more than a minute ago, or an access token is used for the first time. A
   * sign-in of a person counts as used when it is made.
   */
  readonly stale: boolean
}

/** @returns undefined if the token is unknown or expired, or its user or the user's domain is inactive */
export async function findLiveLogin(db: Db, tokenHash: Buffer): Promise<LiveLogin | undefined> {
  const row = await db
    .selectFrom('logins')
    .innerJoin('users', 'users.id', 'logins.user_id')
    .selectAll('users')
    .select([
      'logins.id as login_id',
      'logins.kind',
      'logins.label',
      'logins.expires_at',
      'logins.keypair',
      'logins.scopes',
    ])
    .select(
      sql<boolean>`logins.last_used_at < now() - interval '1 minute'
        or (logins.scopes is not null and logins.last_used_at = logins.created_at)`.as('stale'),
    )
    .where('token_hash', '=', tokenHash)
    .where(ACCOUNT_HOLDS)
    .where(sql<boolean>`least(logins.expires_at, logins.ends_at) > now()`)
    .executeTakeFirst()
  if (!row) return undefined
  const { login_id, kind, label, expires_at, keypair, scopes, stale, ...user } = row
  return { id: login_id, kind, label, expires_at, keypair, scopes, stale, user }
}

/** Valid sign-ins of a user without access tokens, the last used first. */
export function listLoginsOf(db: Db, userId: UserId): Promise<Selectable<LoginsTable>[]> {
  return db
    .selectFrom('logins')
    .selectAll()
    .where('user_id', '=', userId)
    .where('scopes', 'is', null)
    .where(sql<boolean>`least(expires_at, ends_at) > now()`)
    .orderBy('last_used_at', 'desc')
    .orderBy('id')
    .limit(MOST_LOGINS.ofPerson + MOST_LOGINS.withKeypairs)
    .execute()
}

/** Whether a sign-in was made within the last `minutes`. */
export async function isLoginYounger(db: Db, id: string, minutes: number): Promise<boolean> {
  const row = await db
    .selectFrom('logins')
    .select('id')
    .where('id', '=', id)
    .where(sql<boolean>`created_at > now() - make_interval(mins => ${minutes})`)
    .executeTakeFirst()
  return row !== undefined
}

/** Finds which of these hashes belong to sign-ins, expired or not. */
export async function listTokenHashes(db: Db, hashes: readonly Buffer[]): Promise<readonly Buffer[]> {
  const rows = await db.selectFrom('logins').select('token_hash').where('token_hash', 'in', hashes).execute()
  return rows.map(row => row.token_hash)
}

/** Whether this hash is that of the sign-in's token. */
export async function isTokenOf(db: Db, id: string, tokenHash: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('logins')
    .select('id')
    .where('id', '=', id)
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return row !== undefined
}

const USED = {
  last_used_at: sql<Date>`now()`,
  expires_at: sql<Date>`least(now() + make_interval(secs => idle_seconds), ends_at)`,
}

/** Records a use: the sign-in is extended by its idle limit, never beyond `ends_at`. @returns the new expiry */
export async function touchLogin(db: Db, id: string): Promise<Date | undefined> {
  const row = await db.updateTable('logins').set(USED).where('id', '=', id).returning('expires_at').executeTakeFirst()
  return row?.expires_at
}

/** Extends the sign-in of a grant when its tunnel is used, unless the sign-in has expired. */
export async function touchLoginOfGrant(db: Db, grantId: string): Promise<void> {
  await db
    .updateTable('logins')
    .set(USED)
    .where('id', '=', eb => eb.selectFrom('grants').select('login_id').where('grants.id', '=', grantId))
    .where(sql<boolean>`expires_at > now()`)
    .execute()
}

/** Ids of expired sign-ins whose rows are still there (retention deletes them after an hour). */
export async function listExpiredLogins(db: Db, now: Date): Promise<string[]> {
  const rows = await db
    .selectFrom('logins')
    .select('id')
    .where(sql<boolean>`least(expires_at, ends_at) <= ${now}::timestamptz`)
    .execute()
  return rows.map(row => row.id)
}

/** Filters sign-ins: keeps those that have not expired and whose accounts are active. */
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

/**
 * Deletes the sign-ins beyond a person's limit, starting with those unused for longest; access tokens have a limit of their own. Call it in the transaction that inserts `made`,
 * with the account locked: concurrent sign-ins could exceed the limit. @param made kept @returns ids of deleted sign-ins
 */
export async function deleteExcessLogins(trx: Db, userId: UserId, made: string): Promise<string[]> {
  const latest = sql`order by id = ${made}::uuid desc, last_used_at desc, id desc`
  const { rows } = await sql<{ id: string }>`
    delete from logins where id = any(array(
      select id from (
        select id, keypair, row_number() over (partition by keypair ${latest}) as of_key,
          row_number() over (partition by keypair is null ${latest}) as of_kind
        from logins where user_id = ${userId}::uuid and scopes is null
      ) as ranked
      where case when keypair is null then of_kind > ${MOST_LOGINS.ofPerson}
        else of_kind > ${MOST_LOGINS.withKeypairs} or of_key > ${MOST_LOGINS.withOneKeypair} end
      limit ${ENDED_AT_ONCE}
    )) returning id`.execute(trx)
  return rows.map(({ id }) => id)
}

/**
 * Deletes one sign-in, or all of a user (narrowed by `only`, `except`, `madeWith`), of a domain, of a keypair or of a kind. @returns the
 * deleted ids
 */
export async function deleteLogins(
  db: Db,
  which:
    | { id: string }
    | { userId: UserId; only?: string; except?: string | undefined; madeWith?: string | undefined }
    | { domain: string }
    | { keypair: string }
    | { kind: 'browser' },
): Promise<string[]> {
  let query = db.selectFrom('logins').select('id').limit(ENDED_AT_ONCE).forUpdate()
  if ('id' in which) query = query.where('id', '=', which.id)
  else if ('kind' in which) query = query.where('kind', '=', which.kind)
  else if ('keypair' in which) query = query.where('keypair', '=', which.keypair)
  else if ('domain' in which) {
    query = query.where('user_id', 'in', eb =>
      eb.selectFrom('users').select('users.id').where('domain', '=', which.domain),
    )
  } else {
    query = query.where('user_id', '=', which.userId)
    if (which.only !== undefined) query = query.where('id', '=', which.only)
    if (which.except !== undefined) query = query.where('id', '<>', which.except)
    if (which.madeWith !== undefined) query = query.where('keypair', '=', which.madeWith)
  }
  const ended: string[] = []
  for (;;) {
    const found = sql<boolean>`id = any(array(${query}))`
    const rows = await db.deleteFrom('logins').where(found).returning('id').execute()
    ended.push(...rows.map(({ id }) => id))
    // The limit skips rows that others have deleted meanwhile, so a short batch is the last one.
    if (rows.length < ENDED_AT_ONCE) return ended
  }
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

/** The user of a ticket, expired or not; `takeTicket` checks that. */
export async function findTicketUser(db: Db, hash: Buffer): Promise<UserId | undefined> {
  const query = db.selectFrom('sign_in_tickets').select('user_id').where('ticket_hash', '=', hash)
  return (await query.executeTakeFirst())?.user_id
}

/**
 * Consumes a ticket. Of two concurrent uses, one gets nothing.
 * @returns the user of the ticket; undefined if it is unknown, used or expired
 */
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

/** True on a new database before the first sign-in: at most one account, and no sign-ins. */
export async function isFirstStart(db: Db): Promise<boolean> {
  const { rows } = await sql<{ first: boolean }>`
    select not exists (select from logins) and (select count(*) from users) <= 1 as first`.execute(db)
  return rows[0]?.first ?? false
}
