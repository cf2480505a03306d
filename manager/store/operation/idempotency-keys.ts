import { sql } from 'kysely'
import { AppError, type UserId } from '#manager/contract'
import { newUuid } from '../new-id.ts'
import { type Db } from '../schema.ts'

/** A request with an idempotency key, as a service sees it. */
export interface KeyedRequest {
  /**
   * Ids of the objects that an earlier attempt created or changed, and whose answer was lost or not stored. The service then only answers
   * with these. Null if there was no such attempt.
   */
  readonly created: readonly string[] | null
  /** Records the objects that this attempt creates or changes, in the same transaction. @throws AppError `request_in_progress` */
  noteCreated(trx: Db, ids: readonly string[]): Promise<void>
}

/** An attempt at a request with an idempotency key. */
export interface Claim {
  readonly userId: UserId
  readonly key: string
  /** Id of this attempt. */
  readonly id: string
}

export interface KeyRow {
  readonly sealed: string
  readonly answered: boolean
  readonly created: readonly string[] | null
  readonly claim: string
  /** The lease of the attempt has expired: its process has ended or given up. */
  readonly abandoned: boolean
}

/** Time for which a key is remembered. */
const KEPT = '1 day'
/** Lease of an attempt. No request takes longer: each of its statements and calls to agents has a shorter limit. */
export const LEASE_MS = 60_000
const LEASE = `${LEASE_MS} milliseconds`

/** Claims a key that is new or has expired. @returns false if the key is in use */
export async function insertClaim(db: Db, { userId, key, id }: Claim, sealed: string): Promise<boolean> {
  const { rows } = await sql`
    insert into idempotency_keys as k (user_id, key, sealed, claim, expires_at)
    values (${userId}, ${key}, ${sealed}, ${id}, now() + ${KEPT}::interval)
    on conflict (user_id, key) do update
      set sealed = excluded.sealed, answered = false, created = null, claim = excluded.claim, claimed_at = now(),
          expires_at = excluded.expires_at
      where k.expires_at < now()
    returning 1`.execute(db)
  return rows.length > 0
}

export async function findKey(db: Db, userId: UserId, key: string): Promise<KeyRow | undefined> {
  return db
    .selectFrom('idempotency_keys')
    .select(['sealed', 'answered', 'created', 'claim'])
    .select(sql<boolean>`claimed_at < now() - ${LEASE}::interval`.as('abandoned'))
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .executeTakeFirst()
}

/** Takes over a claim whose attempt is abandoned. @returns undefined if a third attempt was faster, or it was answered */
export async function takeOver(db: Db, { userId, key, id }: Claim): Promise<Claim | undefined> {
  const next = newUuid()
  const { numUpdatedRows } = await db
    .updateTable('idempotency_keys')
    .set({ claim: next, claimed_at: sql`now()` })
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .where('claim', '=', id)
    .where('answered', '=', false)
    .executeTakeFirst()
  return numUpdatedRows === 1n ? { userId, key, id: next } : undefined
}

/**
 * Records the objects that an attempt creates or changes, in the same transaction as the changes.
 *
 * @throws AppError `request_in_progress` if another attempt has taken over; the transaction must roll back
 */
export async function noteCreated(trx: Db, claim: Claim, ids: readonly string[]): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('idempotency_keys')
    .set({ created: [...ids] })
    .where('user_id', '=', claim.userId)
    .where('key', '=', claim.key)
    .where('claim', '=', claim.id)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new AppError('request_in_progress', { retryAfterSeconds: 1 })
}

/** Stores the answer under the key. @returns false if another attempt has taken over, or the key was deleted */
export async function storeAnswer(db: Db, claim: Claim, sealed: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('idempotency_keys')
    .set({ sealed, answered: true })
    .where('user_id', '=', claim.userId)
    .where('key', '=', claim.key)
    .where('claim', '=', claim.id)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/**
 * Releases the claim of an attempt that failed or whose answer is not kept, so that a retry may begin at once. The key is deleted,
 * unless objects were made or changed under it.
 */
export async function releaseClaim(db: Db, claim: Claim): Promise<void> {
  await sql`
    with gone as (
      delete from idempotency_keys
      where user_id = ${claim.userId} and key = ${claim.key} and claim = ${claim.id} and created is null
    )
    update idempotency_keys set claimed_at = '-infinity'
    where user_id = ${claim.userId} and key = ${claim.key} and claim = ${claim.id} and created is not null`.execute(db)
}
