import { sql } from 'kysely'
import { type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Stores a new, unconfirmed secret. @returns false if the user has a confirmed one */
export async function putSecret(db: Db, userId: UserId, sealed: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ totp_sealed: sealed, totp_last_step: null })
    .where('id', '=', userId)
    .where('totp_confirmed_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/**
 * Confirms the secret.
 *
 * @param sealed the secret against which the code was checked
 * @returns false if one is confirmed already, or if the secret was replaced meanwhile
 */
export async function confirmSecret(trx: Db, userId: UserId, sealed: string, step: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set({ totp_confirmed_at: sql<Date>`now()`, totp_last_step: step, version: sql<number>`version + 1` })
    .where('id', '=', userId)
    .where('totp_confirmed_at', 'is', null)
    .where('totp_sealed', '=', sealed)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Consumes a time step. Of two requests with the same code, one fails. @returns true once per step, and never for an older step */
export async function takeStep(db: Db, userId: UserId, step: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ totp_last_step: step })
    .where('id', '=', userId)
    .where('totp_confirmed_at', 'is not', null)
    .where(eb => eb.or([eb('totp_last_step', 'is', null), eb('totp_last_step', '<', step)]))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes the secret and the recovery codes. @returns whether there was a secret */
export async function clearSecret(trx: Db, userId: UserId): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set({ totp_sealed: null, totp_confirmed_at: null, totp_last_step: null, version: sql<number>`version + 1` })
    .where('id', '=', userId)
    .where('totp_sealed', 'is not', null)
    .executeTakeFirst()
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  return numUpdatedRows === 1n
}

export async function replaceRecoveryCodes(trx: Db, userId: UserId, hashes: readonly Buffer[]): Promise<void> {
  await trx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await trx
    .insertInto('recovery_codes')
    .values(hashes.map(code_hash => ({ user_id: userId, code_hash })))
    .execute()
}

/** Consumes a recovery code. @returns true once per code */
export async function takeRecoveryCode(db: Db, userId: UserId, hash: Buffer): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('recovery_codes')
    .set({ used_at: sql<Date>`now()` })
    .where('user_id', '=', userId)
    .where('code_hash', '=', hash)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

export async function countRecoveryCodes(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('recovery_codes')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}
