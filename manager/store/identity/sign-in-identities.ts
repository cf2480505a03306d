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

/** @returns false if the subject is linked already, or the user is linked to another subject of the issuer */
export async function insertIdentity(
  trx: Db,
  {
    userId,
    ...identity
  }: Subject & {
    readonly userId: UserId
    readonly email: string
    readonly doubtful?: boolean
    /** Whether the account was made for this person, or found by the address. */
    readonly owns?: boolean
  },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('sign_in_identities')
    .values({ ...identity, user_id: userId })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Records a sign-in. */
export async function noteIdentityUse(trx: Db, { issuer, subject }: Subject, email: string): Promise<void> {
  await trx
    .updateTable('sign_in_identities')
    .set({ email, last_used_at: sql<Date>`now()` })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute()
}

export interface GivenRights {
  readonly givenGroups: readonly GroupId[]
  readonly givenRole: Role | null
  readonly roleBefore: Role | null
  /** The provider whose mapping gives these rights, and its `mapping_version`; unchanged if left out. */
  readonly givenBy?: { readonly provider: string; readonly version: number }
}

/** Records the rights that a mapping gives through a linked account now. */
export async function noteGiven(trx: Db, { issuer, subject }: Subject, given: GivenRights): Promise<void> {
  await trx
    .updateTable('sign_in_identities')
    .set({
      given_groups: JSON.stringify(given.givenGroups),
      given_role: given.givenRole,
      role_before: given.roleBefore,
      ...(given.givenBy ? { given_by: given.givenBy.provider, given_version: given.givenBy.version } : {}),
    })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute()
}

/** Makes memberships permanent: an administrator has confirmed them by hand, so no mapping may remove them. */
export async function keepGroups(trx: Db, userId: UserId, groups: readonly GroupId[]): Promise<void> {
  if (groups.length === 0) return
  await trx
    .updateTable('sign_in_identities')
    .set({ given_groups: sql`given_groups - ${sql.val(groups)}::text[]` })
    .where('user_id', '=', userId)
    .execute()
}

/** Like `keepGroups`, for the role. */
export async function keepRole(trx: Db, userId: UserId): Promise<void> {
  await trx
    .updateTable('sign_in_identities')
    .set({ given_role: null, role_before: null })
    .where('user_id', '=', userId)
    .execute()
}

const gives = sql<boolean>`(given_groups <> '[]' or given_role is not null)`

/** A linked account, identified by its owner and issuer: an owner has one per issuer. */
export interface LinkedAccount {
  readonly user_id: UserId
  readonly issuer: string
}

interface PageOfLinked {
  /** The last account of the previous page. */
  readonly after: LinkedAccount | undefined
  readonly limit: number
}

/** Ordered in the way that owners are locked. */
const linkedPage = (db: Db, { after, limit }: PageOfLinked) =>
  db
    .selectFrom('sign_in_identities')
    .select(['user_id', 'issuer'])
    .where(gives)
    .$if(after !== undefined, query =>
      query.where(sql<boolean>`(user_id, issuer) > (${after?.user_id}::uuid, ${after?.issuer}::text)`),
    )
    .orderBy('user_id')
    .orderBy('issuer')
    .limit(limit)

/** Linked accounts with rights from a mapping that has changed since, or whose provider was deleted. */
export function listUnjudged(db: Db, page: PageOfLinked): Promise<LinkedAccount[]> {
  return linkedPage(db, page)
    .where('given_by', 'is not', null)
    .where(
      sql<boolean>`not exists (select from sign_in_providers where id = given_by and mapping_version = given_version)`,
    )
    .execute()
}

/** Records that this account has the rights that the mapping gives now. If the provider was deleted, nothing is left to check. */
export async function noteJudged(trx: Db, { user_id, issuer }: LinkedAccount): Promise<void> {
  const provider = sql`from sign_in_providers where id = given_by`
  await trx
    .updateTable('sign_in_identities')
    .set({
      given_by: sql<string | null>`(select id ${provider})`,
      given_version: sql<number | null>`(select mapping_version ${provider})`,
    })
    .where('user_id', '=', user_id)
    .where('issuer', '=', issuer)
    .execute()
}

/** Linked accounts with rights from a mapping that were not used to sign in for so many days. */
export function listLapsed(db: Db, days: number, page: PageOfLinked): Promise<LinkedAccount[]> {
  return linkedPage(db, page)
    .where('last_used_at', '<', sql<Date>`now() - ${days} * interval '1 day'`)
    .execute()
}

export async function deleteIdentity(trx: Db, { issuer, subject }: Subject): Promise<void> {
  await trx.deleteFrom('sign_in_identities').where('issuer', '=', issuer).where('subject', '=', subject).execute()
}

/** Accounts that are linked to this issuer. */
export function listLinked(
  db: Db,
  issuer: string,
): Promise<Pick<SignInIdentityRow, 'subject' | 'user_id' | 'gone_at' | 'deactivated'>[]> {
  return db
    .selectFrom('sign_in_identities')
    .select(['subject', 'user_id', 'gone_at', 'deactivated'])
    .where('issuer', '=', issuer)
    .orderBy('subject')
    .execute()
}

/** Records that the directory does not have these people; the time of the first record stays. */
export async function noteGone(db: Db, issuer: string, subjects: readonly string[]): Promise<void> {
  if (subjects.length === 0) return
  await db
    .updateTable('sign_in_identities')
    .set({ gone_at: sql<Date>`coalesce(gone_at, now())` })
    .where('issuer', '=', issuer)
    .where('subject', 'in', subjects)
    .execute()
}

/** Records that the directory has a person, or, with `deactivated`, that the account was deactivated because it has not. */
export async function notePresence(
  trx: Db,
  { issuer, subject }: Subject,
  presence: { readonly isThere: boolean; readonly deactivated: boolean },
): Promise<void> {
  await trx
    .updateTable('sign_in_identities')
    .set({
      gone_at: presence.isThere ? null : sql<Date>`coalesce(gone_at, now())`,
      deactivated: presence.deactivated,
    })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute()
}

/** Records that a person decided whether an account is active: a directory that has its person again does not change it. */
export async function forgetDepartures(trx: Db, userId: UserId): Promise<void> {
  await trx
    .updateTable('sign_in_identities')
    .set({ deactivated: false })
    .where('user_id', '=', userId)
    .where('deactivated', '=', true)
    .execute()
}
