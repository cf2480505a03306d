import { type Selectable, sql } from 'kysely'
import { type GroupId, type Role, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type SignInIdentitiesTable } from '../tables/sign-in.ts'

export type SignInIdentityRow = Selectable<SignInIdentitiesTable>

/** An account at a provider: the pair never changes and is never given to another person. */
export interface Subject {
  readonly issuer: string
  readonly subject: string
}

export function findIdentity(db: Db, { issuer, subject }: Subject): Promise<SignInIdentityRow | undefined> {
  return db
    .selectFrom('sign_in_identities')
    .selectAll()
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
}

export function listIdentities(db: Db, userId: UserId): Promise<SignInIdentityRow[]> {
  return db.selectFrom('sign_in_identities').selectAll().where('user_id', '=', userId).orderBy('issuer').execute()
}

/** Number of linked accounts by issuer. */
export async function countIdentities(db: Db): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('sign_in_identities')
    .select(['issuer', ({ fn }) => fn.countAll<number>().as('count')])
    .groupBy('issuer')
    .execute()
  return new Map(rows.map(({ issuer, count }) => [issuer, count]))
}

/** @returns false if the subject is linked already, or the user to another subject of the issuer */
export async function insertIdentity(
  trx: Db,
  { userId, ...identity }: Subject & { readonly userId: UserId; readonly email: string; readonly doubtful?: boolean },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('sign_in_identities')
    .values({ ...identity, user_id: userId })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export interface IdentityUse {
  readonly email: string
  readonly givenGroups: readonly GroupId[]
  readonly givenRole: Role | null
  readonly roleBefore: Role | null
}

/** Notes a sign-in, and what the mapping has given with it. */
export async function noteIdentityUse(trx: Db, { issuer, subject }: Subject, use: IdentityUse): Promise<void> {
  await trx
    .updateTable('sign_in_identities')
    .set({
      email: use.email,
      given_groups: JSON.stringify(use.givenGroups),
      given_role: use.givenRole,
      role_before: use.roleBefore,
      last_used_at: sql<Date>`now()`,
    })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute()
}

export async function deleteIdentity(trx: Db, { issuer, subject }: Subject): Promise<void> {
  await trx.deleteFrom('sign_in_identities').where('issuer', '=', issuer).where('subject', '=', subject).execute()
}

export async function deleteIdentities(trx: Db, userId: UserId): Promise<number> {
  const { numDeletedRows } = await trx.deleteFrom('sign_in_identities').where('user_id', '=', userId).executeTakeFirst()
  return Number(numDeletedRows)
}

/** Unlinks what somebody else may have linked. @returns how many */
export async function deleteDoubtfulIdentities(trx: Db, userId: UserId): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('sign_in_identities')
    .where('user_id', '=', userId)
    .where('doubtful', '=', true)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
