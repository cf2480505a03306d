import {
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type RawBuilder,
  type Selectable,
  sql,
  type SqlBool,
} from 'kysely'
import { type GroupId, type Role, type UserId, type UserOrder } from '#manager/contract'
import { valuesAtEnd } from '../page-end.ts'
import { type Database, type Db } from '../schema.ts'
import { type UsersTable } from '../tables/accounts.ts'

export type UserRow = Selectable<UsersTable>
export type NewUser = Pick<
  Insertable<UsersTable>,
  | 'id'
  | 'email'
  | 'name'
  | 'description'
  | 'role'
  | 'password_hash'
  | 'password_set'
  | 'password_from'
  | 'must_change_password'
  | 'domain'
  | 'active'
  | 'resource_policy'
  | 'email_verified_at'
>

/**
 * Condition that the account and its domain are active. For every query that gives somebody access (sign-ins, grants, keypairs), or that
 * checks whether the giver of something still has the right to give it; the query must have the table `users` under the name `alias`.
 */
export const accountHolds = (
  alias: string,
): RawBuilder<boolean> => sql<boolean>`(${sql.ref(`${alias}.active`)} and exists (
  select from domains d where d.name = ${sql.ref(`${alias}.domain`)} and d.active))`

/** `accountHolds` for the table `users` under its own name. */
export const ACCOUNT_HOLDS = accountHolds('users')

/** @returns false if the e-mail address is taken (letter case is ignored) */
export async function insertUser(db: Db, user: NewUser): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('users')
    .values(user)
    .onConflict(conflict => conflict.expression(sql`lower(email)`).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

export function findUserByEmail(db: Db, email: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('users')
    .selectAll()
    .where(sql`lower(email)`, '=', email.toLowerCase())
    .executeTakeFirst()
}

/** Role and domain of each of these users, without those whose account or domain is inactive. */
export async function listActiveRoles(
  db: Db,
  ids: readonly UserId[],
): Promise<Map<UserId, Pick<UserRow, 'role' | 'domain'>>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('users')
    .select(['id', 'role', 'domain'])
    .where('id', 'in', ids)
    .where(ACCOUNT_HOLDS)
    .execute()
  return new Map(rows.map(({ id, ...active }) => [id, active]))
}

export function findUser(db: Db, id: UserId): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
}

export interface UserFilter {
  readonly active?: boolean | undefined
  readonly domain?: string | undefined
  readonly group?: GroupId | undefined
  readonly resourcePolicy?: string | undefined
  readonly role?: Role | undefined
  /** Part of the e-mail address or name, in any letter case. */
  readonly search?: string | undefined
  readonly visible?: VisibleAccounts | undefined
}

/** Accounts that a caller may see: those of the domain, except superadmins; all if left out. */
export interface VisibleAccounts {
  readonly domain?: string
  readonly superadmins?: false
}

const ORDER_BY: Readonly<Record<Exclude<UserOrder, 'created'>, RawBuilder<string>>> = {
  email: sql`lower(email)`,
  name: sql`lower(name)`,
  role: sql`role`,
  domain: sql`lower(domain)`,
}

/** @param page `after`: the last id of the previous page; the list ends early if that account was deleted or hidden meanwhile */
export function listUsers(
  db: Db,
  page: UserFilter & {
    readonly limit: number
    readonly after?: UserId | undefined
    readonly order?: UserOrder | undefined
    readonly descending?: boolean | undefined
  },
): Promise<UserRow[]> {
  const { order = 'created', descending = false, limit, after } = page
  const direction = descending ? 'desc' : 'asc'
  const comes = sql.raw(descending ? '<' : '>')
  let query = db.selectFrom('users').selectAll().where(matching(page)).limit(limit)
  if (order === 'created') {
    if (after !== undefined) query = query.where(sql<boolean>`id ${comes} ${after}`)
    return query.orderBy('id', direction).execute()
  }
  const by = ORDER_BY[order]
  if (after !== undefined) {
    query = query.where(eb => {
      const seen = seenBy(eb, page.visible)
      const last = valuesAtEnd({ values: sql`${by}, id`, from: sql`users`, is: sql`id = ${after}`, seen })
      return sql<boolean>`(${by}, id) ${comes} ${last}`
    })
  }
  return query.orderBy(by, direction).orderBy('id', direction).execute()
}

export async function countMatchingUsers(db: Db, filter: UserFilter): Promise<number> {
  const { count } = await db
    .selectFrom('users')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(matching(filter))
    .executeTakeFirstOrThrow()
  return count
}

function matching({ active, domain, group, resourcePolicy, role, search, visible }: UserFilter) {
  return (eb: ExpressionBuilder<Database, 'users'>) =>
    eb.and([
      seenBy(eb, visible),
      ...(active === undefined ? [] : [eb('active', '=', active)]),
      ...(domain === undefined ? [] : [eb('domain', '=', domain)]),
      ...(group === undefined
        ? []
        : [eb('id', 'in', eb.selectFrom('group_members').select('user_id').where('group_id', '=', group))]),
      ...(resourcePolicy === undefined ? [] : [eb('resource_policy', '=', resourcePolicy)]),
      ...(role === undefined ? [] : [eb('role', '=', role)]),
      ...(search ? [sql<boolean>`position(${search.toLowerCase()} in lower(email) || ' ' || lower(name)) > 0`] : []),
    ])
}

function seenBy(
  eb: ExpressionBuilder<Database, 'users'>,
  { domain, superadmins }: VisibleAccounts = {},
): Expression<SqlBool> {
  return eb.and([
    ...(domain === undefined ? [] : [eb('users.domain', '=', domain)]),
    ...(superadmins === false ? [eb('users.role', '<>', 'superadmin')] : []),
  ])
}

/**
 * Deletes accounts whose sign-up is older than `days` and was never confirmed. Nobody has ever signed in to them. Accounts
 * with keypairs or sessions stay, as do those with a link that can still confirm them.
 */
export async function deleteUnconfirmed(
  trx: Db,
  { days, limit }: { days: number; limit: number },
): Promise<Pick<UserRow, 'id' | 'version'>[]> {
  const { rows } = await sql<Pick<UserRow, 'id' | 'version'>>`
    select id, version from users where email_verified_at is null and role = 'user'
      and created_at < now() - make_interval(days => ${days})
      and not exists (select from email_tokens t where t.user_id = users.id and t.expires_at > now())
      and not exists (select from keypairs k where k.user_id = users.id)
      and not exists (select from sessions s where s.owner_id = users.id)
    order by id limit ${limit} for update skip locked`.execute(trx)
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return []
  await trx.updateTable('invitations').set({ used_by: null }).where('used_by', 'in', ids).execute()
  await trx.deleteFrom('users').where('id', 'in', ids).execute()
  return rows
}

/** E-mail addresses of the superadmins and of the admins of a domain who may sign in; admins of the domain first. */
export async function listAdminAddresses(db: Db, domain: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('users')
    .select('email')
    .where(sql<boolean>`(role = 'superadmin' or (role = 'domain_admin' and domain = ${domain}))`)
    .where(ACCOUNT_HOLDS)
    .where('email_verified_at', 'is not', null)
    .orderBy('role')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ email }) => email)
}

/** Locks the row: nobody else changes it until the transaction ends. */
export function lockUser(db: Db, id: UserId): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

/** Like `holdUser`, and also serialises code that counts things of the user. Rows that refer to the user can be inserted meanwhile. */
export function countingOf(trx: Db, id: UserId): Promise<UserRow | undefined> {
  return trx.selectFrom('users').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

/**
 * Reads a user under a share lock: the user's role, domain and active state do not change until the transaction ends, so decisions based on
 * them stay right.
 */
export function holdUser(db: Db, id: UserId): Promise<UserRow | undefined> {
  return db.selectFrom('users').selectAll().where('id', '=', id).forShare().executeTakeFirst()
}

export async function countUsers(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('users')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Names of these users, in any order. */
export async function listUserNames(
  db: Db,
  ids: readonly UserId[],
): Promise<Pick<UserRow, 'id' | 'email' | 'domain'>[]> {
  if (ids.length === 0) return []
  return db.selectFrom('users').select(['id', 'email', 'domain']).where('id', 'in', ids).execute()
}

/** Superadmins who can sign in. */
export function listSuperadmins(db: Db): Promise<Pick<UserRow, 'id' | 'email'>[]> {
  return db.selectFrom('users').select(['id', 'email']).where('role', '=', 'superadmin').where(ACCOUNT_HOLDS).execute()
}

/** Serialises all changes that could remove the last superadmin, until the transaction ends. */
export async function lockSuperadmins(db: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('berth:superadmins', 0))`.execute(db)
}

/** Number of superadmins who can sign in with a password, also while every sign-in provider is down. */
export async function countSuperadmins(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('users')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('role', '=', 'superadmin')
    .where('password_set', '=', true)
    .where(ACCOUNT_HOLDS)
    .executeTakeFirstOrThrow()
  return count
}

/** Increments only the version, because the user's groups have changed. Locks the row until the transaction ends. */
export function touchUser(db: Db, id: UserId): Promise<UserRow | undefined> {
  return updateUser(db, id, {})
}

export type UserUpdate = Partial<
  Pick<
    UserRow,
    | 'name'
    | 'description'
    | 'role'
    | 'active'
    | 'domain'
    | 'password_hash'
    | 'password_set'
    | 'password_from'
    | 'must_change_password'
    | 'resource_policy'
    | 'email_verified_at'
  >
> & {
  /** Somebody else chose the password, or received the link that set it. */
  readonly handed?: boolean
}

/**
 * @param update with `password_hash`, the account has a password that the person chose, unless `password_set` and `password_from` say
 *   otherwise @returns the new row, or undefined if there is no such user
 */
export function updateUser(
  db: Db,
  id: UserId,
  { handed = false, ...update }: UserUpdate,
): Promise<UserRow | undefined> {
  const from = update.password_from ?? (update.password_hash === undefined ? undefined : 'person')
  return db
    .updateTable('users')
    .set({
      ...(update.password_hash === undefined ? {} : { password_set: true, password_from: 'person' as const }),
      ...update,
      ...(from === undefined ? {} : { doubt_since: doubtAfter(from) }),
      ...(handed ? { handed_at: sql<Date>`now()` } : {}),
      version: sql<number>`version + 1`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/**
 * Time since when somebody else may know the password: a continued doubt keeps its beginning, a new one begins now, and a password chosen
 * by the person ends it. A password from a superadmin ends a doubt about admins of the domain and begins a new one (`endsDoubt`).
 */
function doubtAfter(from: UserRow['password_from']): RawBuilder<Date | null> {
  if (from === 'person') return sql`null`
  if (from === 'superadmin') return sql`case when password_from = 'superadmin' then doubt_since else now() end`
  return sql`case when password_from = 'person' then now() else doubt_since end`
}

/**
 * Condition that somebody else may have access to the account, as `othersMayKnowPassword` decides for a row, and that somebody gained it
 * after this time. The query must have the table `users` under the name `alias`.
 */
export function enteredSince(alias: string, time: RawBuilder<unknown>): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${alias}.${name}`)
  return sql<boolean>`(${column('password_set')} and ${column('password_from')} <> 'person'
    and coalesce(${column('handed_at')}, ${column('created_at')}) > ${time})`
}

export async function findSshPublicKey(db: Db, id: UserId): Promise<string | null> {
  const row = await db.selectFrom('users').select('ssh_public_key').where('id', '=', id).executeTakeFirst()
  return row?.ssh_public_key ?? null
}

/** @param accessKey keypair of the request that sets the key */
export async function setSshPublicKey(
  db: Db,
  id: UserId,
  { line, accessKey }: { readonly line: string | null; readonly accessKey: string | null },
): Promise<void> {
  await db
    .updateTable('users')
    .set({ ssh_public_key: line, ssh_key_changed_at: sql<Date>`now()`, ssh_key_set_by_access_key: accessKey })
    .where('id', '=', id)
    .execute()
}
