import {
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type RawBuilder,
  type Selectable,
  sql,
  type SqlBool,
} from 'kysely'
import { type KeypairOrder, type Role, type UserId } from '#manager/contract'
import { valuesAtEnd } from '../page-end.ts'
import { type Database, type Db } from '../schema.ts'
import { type KeypairsTable } from '../tables/accounts.ts'

export type KeypairRow = Selectable<KeypairsTable> & {
  readonly email: string
  /** The owner's role. */
  readonly role: Role
  readonly domain: string
  /** Address of the maker, if that is not the owner. */
  readonly maker: string | null
}
export type NewKeypair = Pick<
  Insertable<KeypairsTable>,
  | 'access_key'
  | 'name'
  | 'user_id'
  | 'sealed_secret'
  | 'active'
  | 'rate_limit'
  | 'resource_policy'
  | 'created_by'
  | 'waits'
>

const withOwner = (db: Db) =>
  db
    .selectFrom('keypairs')
    .innerJoin('users', 'users.id', 'keypairs.user_id')
    .leftJoin('users as makers', 'makers.id', 'keypairs.created_by')
    .selectAll('keypairs')
    .select(['users.email', 'users.role', 'users.domain', 'makers.email as maker'])

/** @returns false if the access key is taken */
export async function insertKeypair(db: Db, keypair: NewKeypair): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('keypairs')
    .values(keypair)
    .onConflict(conflict => conflict.column('access_key').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Keypairs of one person, active or not. */
export async function countKeypairsOf(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('keypairs')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

export function findKeypair(db: Db, accessKey: string): Promise<KeypairRow | undefined> {
  return withOwner(db).where('access_key', '=', accessKey).executeTakeFirst()
}

/** These keypairs, in the order of their activation. */
export async function findKeypairs(db: Db, accessKeys: readonly string[]): Promise<KeypairRow[]> {
  if (accessKeys.length === 0) return []
  return withOwner(db).where('access_key', 'in', accessKeys).orderBy('activated_at').orderBy('access_key').execute()
}

export interface KeypairFilter {
  /** Keypairs of `ownerId` and, if `domain` is set, of all its users except superadmins; undefined for all keypairs. */
  readonly visible?: { readonly ownerId: UserId; readonly domain?: string } | undefined
  readonly owner?: UserId | undefined
  readonly active?: boolean | undefined
  /** Part of the access key, its name, the owner's e-mail address or the policy, in any letter case. */
  readonly search?: string | undefined
}

const ORDER_BY: Readonly<Record<Exclude<KeypairOrder, 'key'>, RawBuilder<unknown>>> = {
  email: sql`lower(users.email)`,
  policy: sql`lower(keypairs.resource_policy)`,
  rate: sql`keypairs.rate_limit`,
  used: sql`coalesce(keypairs.last_used_at, timestamptz '-infinity')`,
  created: sql`keypairs.created_at`,
  state: sql`not keypairs.active`,
}

/** @param page `after`: the last access key of the previous page; the list ends early if that keypair was deleted or hidden meanwhile */
export function listKeypairs(
  db: Db,
  page: KeypairFilter & {
    readonly limit: number
    readonly after?: string | undefined
    readonly order?: KeypairOrder | undefined
    readonly descending?: boolean | undefined
  },
): Promise<KeypairRow[]> {
  const { order = 'key', descending = false, limit, after } = page
  const direction = descending ? 'desc' : 'asc'
  const comes = sql.raw(descending ? '<' : '>')
  const query = withOwner(db).where(matching(page)).limit(limit)
  if (order === 'key') {
    const from = after === undefined ? query : query.where(sql<boolean>`access_key ${comes} ${after}`)
    return from.orderBy('access_key', direction).execute()
  }
  const by = ORDER_BY[order]
  const joined = sql`keypairs join users on users.id = keypairs.user_id`
  const values = sql`${by}, access_key`
  const behind = (eb: ExpressionBuilder<Database, 'keypairs' | 'users'>) => {
    const seen = seenBy(eb, page.visible)
    return sql<boolean>`(${values}) ${comes} ${valuesAtEnd({ values, from: joined, is: sql`access_key = ${after}`, seen })}`
  }
  const from = after === undefined ? query : query.where(behind)
  return from.orderBy(by, direction).orderBy('access_key', direction).execute()
}

export async function countKeypairs(db: Db, filter: KeypairFilter): Promise<number> {
  const { count } = await db
    .selectFrom('keypairs')
    .innerJoin('users', 'users.id', 'keypairs.user_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(matching(filter))
    .executeTakeFirstOrThrow()
  return count
}

function matching({ visible, owner, active, search }: KeypairFilter) {
  return (eb: ExpressionBuilder<Database, 'keypairs' | 'users'>) =>
    eb.and([
      seenBy(eb, visible),
      ...(owner === undefined ? [] : [eb('keypairs.user_id', '=', owner)]),
      ...(active === undefined ? [] : [eb('keypairs.active', '=', active)]),
      ...(search
        ? [
            sql<boolean>`position(${search.toLowerCase()} in
              lower(keypairs.access_key || ' ' || keypairs.name || ' ' || users.email || ' ' || keypairs.resource_policy)) > 0`,
          ]
        : []),
    ])
}

function seenBy(
  eb: ExpressionBuilder<Database, 'keypairs' | 'users'>,
  visible: KeypairFilter['visible'],
): Expression<SqlBool> {
  if (visible === undefined) return sql<boolean>`true`
  const { ownerId, domain } = visible
  const own = eb('keypairs.user_id', '=', ownerId)
  if (domain === undefined) return own
  return eb.or([own, eb.and([eb('users.domain', '=', domain), eb('users.role', '<>', 'superadmin')])])
}

/**
 * Deactivates the active keypairs of a user, so that they open nothing any more.
 *
 * @param since only those that were made or activated since this time
 * @returns their access keys
 */
export async function deactivateKeypairs(db: Db, ownerId: UserId, since?: Date): Promise<string[]> {
  const query = db.updateTable('keypairs').set({ active: false }).where('user_id', '=', ownerId)
  const active = query.where('active', '=', true).returning('access_key')
  const rows = await (since === undefined ? active : active.where('activated_at', '>=', since)).execute()
  return rows.map(row => row.access_key).toSorted()
}

/** Deletes the keypairs that others created for a user and that the user has not accepted. */
export async function deleteWaitingKeypairs(db: Db, ownerId: UserId): Promise<void> {
  await db.deleteFrom('keypairs').where('user_id', '=', ownerId).where('waits', '=', true).execute()
}

/** All access keys of a user, active or not. */
export async function listAccessKeys(db: Db, ownerId: UserId): Promise<string[]> {
  const rows = await db
    .selectFrom('keypairs')
    .select('access_key')
    .where('user_id', '=', ownerId)
    .orderBy('access_key')
    .execute()
  return rows.map(row => row.access_key)
}

export async function updateKeypair(
  db: Db,
  accessKey: string,
  change: Partial<Pick<NewKeypair, 'name' | 'active' | 'waits' | 'sealed_secret' | 'rate_limit' | 'resource_policy'>>,
): Promise<void> {
  if (Object.keys(change).length === 0) return
  const activated =
    change.active === true ? { activated_at: sql<Date>`case when active then activated_at else now() end` } : {}
  await db
    .updateTable('keypairs')
    .set({ ...change, ...activated })
    .where('access_key', '=', accessKey)
    .execute()
}

/** Locks the row: sign-ins with this keypair wait until the transaction ends. */
export async function lockKeypair(db: Db, accessKey: string): Promise<void> {
  await db.selectFrom('keypairs').select('access_key').where('access_key', '=', accessKey).forUpdate().execute()
}

/** Whether a keypair is active; this does not change until the transaction ends. */
export async function holdActiveKeypair(db: Db, accessKey: string): Promise<boolean> {
  const query = db.selectFrom('keypairs').select('active').where('access_key', '=', accessKey).forShare()
  return (await query.executeTakeFirst())?.active ?? false
}

/** Fails with SQLSTATE 23503 while a session refers to it. */
export async function deleteKeypair(db: Db, accessKey: string): Promise<void> {
  await db.deleteFrom('keypairs').where('access_key', '=', accessKey).execute()
}
