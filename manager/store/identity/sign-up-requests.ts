import { type Selectable, sql } from 'kysely'
import { type Database, type Db } from '../schema.ts'

export type SignUpRequestRow = Omit<Selectable<Database['sign_up_requests']>, 'token_hash'>

const COLUMNS = ['id', 'email', 'name', 'note', 'domain', 'waiting', 'confirmed', 'created_at', 'expires_at'] as const
const fresh = sql<boolean>`expires_at > now()`

export interface NewSignUpRequest {
  readonly id: string
  /** In lower case. */
  readonly email: string
  readonly name: string
  readonly note: string
  readonly domain: string
  /** Hash of the token in the link that confirms the address; without a token, the request waits for approval at once. */
  readonly tokenHash?: Buffer
  readonly lifetimeSeconds: number
}

/** Inserts a request. @returns false if a request of the address is waiting already */
export async function insertSignUpRequest(trx: Db, request: NewSignUpRequest): Promise<boolean> {
  const { tokenHash, lifetimeSeconds, ...values } = request
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('sign_up_requests')
    .values({
      ...values,
      token_hash: tokenHash ?? null,
      waiting: tokenHash === undefined,
      confirmed: false,
      expires_at: sql<Date>`now() + make_interval(secs => ${lifetimeSeconds})`,
    })
    .onConflict(conflict => conflict.column('email').where('waiting', '=', true).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Whether a request of this address (in lower case) is waiting for approval. */
export async function isWaiting(db: Db, email: string): Promise<boolean> {
  const row = await db
    .selectFrom('sign_up_requests')
    .select('id')
    .where('email', '=', email)
    .where('waiting', '=', true)
    .where(fresh)
    .executeTakeFirst()
  return row !== undefined
}

/** Deletes the expired requests of an address, and its oldest unconfirmed requests except the newest `keep`. */
export async function trimUnconfirmedOf(trx: Db, email: string, keep: number): Promise<void> {
  await sql`
    delete from sign_up_requests where email = ${email} and (expires_at <= now() or id in (
      select id from sign_up_requests where email = ${email} and not waiting order by id desc offset ${keep}))`.execute(
    trx,
  )
}

/** Deletes the oldest unconfirmed requests except the newest `keep`. */
export async function trimUnconfirmed(trx: Db, keep: number): Promise<void> {
  await sql`
    delete from sign_up_requests where id in (
      select id from sign_up_requests where not waiting order by id desc offset ${keep})`.execute(trx)
}

/**
 * Moves an unconfirmed request to the waiting ones, and deletes the other requests of its address. @returns the request; undefined if the
 * link is unknown, expired or used
 */
export async function confirmSignUpRequest(
  trx: Db,
  tokenHash: Buffer,
  lifetimeSeconds: number,
): Promise<SignUpRequestRow | undefined> {
  const found = await trx
    .selectFrom('sign_up_requests')
    .select(['id', 'email'])
    .where('token_hash', '=', tokenHash)
    .where(fresh)
    .forUpdate()
    .executeTakeFirst()
  if (!found) return undefined
  await trx.deleteFrom('sign_up_requests').where('email', '=', found.email).where('id', '!=', found.id).execute()
  return trx
    .updateTable('sign_up_requests')
    .set({
      waiting: true,
      confirmed: true,
      token_hash: null,
      expires_at: sql<Date>`now() + make_interval(secs => ${lifetimeSeconds})`,
    })
    .where('id', '=', found.id)
    .returning(COLUMNS)
    .executeTakeFirst()
}

/** @param domain only requests for this domain; undefined for all */
export async function countWaiting(db: Db, domain?: string): Promise<number> {
  let query = db
    .selectFrom('sign_up_requests')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('waiting', '=', true)
    .where(fresh)
  if (domain !== undefined) query = query.where('domain', '=', domain)
  return (await query.executeTakeFirst())?.count ?? 0
}

/** Waiting requests, oldest first. @param page `domain`: only requests for it; `after`: the last id of the previous page */
export function listWaiting(
  db: Db,
  { domain, limit, after }: { domain: string | undefined; limit: number; after: string | undefined },
): Promise<SignUpRequestRow[]> {
  let query = db
    .selectFrom('sign_up_requests')
    .select(COLUMNS)
    .where('waiting', '=', true)
    .where(fresh)
    .orderBy('id')
    .limit(limit)
  if (domain !== undefined) query = query.where('domain', '=', domain)
  if (after !== undefined) query = query.where('id', '>', after)
  return query.execute()
}

/** Removes a waiting request from the list. @param domain only if the request is for it; undefined for any */
export function takeSignUpRequest(
  trx: Db,
  id: string,
  domain: string | undefined,
): Promise<SignUpRequestRow | undefined> {
  let query = trx.deleteFrom('sign_up_requests').where('id', '=', id).where('waiting', '=', true).where(fresh)
  if (domain !== undefined) query = query.where('domain', '=', domain)
  return query.returning(COLUMNS).executeTakeFirst()
}
