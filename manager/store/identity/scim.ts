import { type Selectable, sql } from 'kysely'
import { DEFAULT_GROUP, GroupId, UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type ScimTokensTable } from '../tables/scim.ts'

export type ScimTokenRow = Selectable<ScimTokensTable>

export function listScimTokens(db: Db, domain: string | undefined) {
  return db
    .selectFrom('scim_tokens')
    .innerJoin('users', 'users.id', 'scim_tokens.created_by')
    .selectAll('scim_tokens')
    .select('users.email')
    .$if(domain !== undefined, query => query.where('scim_tokens.domain', '=', domain ?? ''))
    .orderBy('scim_tokens.created_at')
    .execute()
}

export async function insertScimToken(
  db: Db,
  token: Pick<ScimTokenRow, 'id' | 'domain' | 'name' | 'token_hash' | 'created_by'>,
): Promise<void> {
  await db.insertInto('scim_tokens').values(token).execute()
}

/** @returns false if there is no such token in the domain (undefined: in any) */
export async function deleteScimToken(db: Db, id: string, domain: string | undefined): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('scim_tokens')
    .where('id', '=', id)
    .$if(domain !== undefined, query => query.where('domain', '=', domain ?? ''))
    .executeTakeFirst()
  return numDeletedRows === 1n
}

/** Tokens whose makers may administer their domains now. */
const usableTokens = (db: Db) =>
  db
    .selectFrom('scim_tokens')
    .innerJoin('users', 'users.id', 'scim_tokens.created_by')
    .innerJoin('domains', 'domains.name', 'scim_tokens.domain')
    .select(['scim_tokens.id', 'scim_tokens.domain', 'scim_tokens.name', 'scim_tokens.created_by'])
    .where('users.active', '=', true)
    .where('domains.active', '=', true)
    .where(
      sql<boolean>`(users.role = 'superadmin' or (users.role = 'domain_admin' and users.domain = scim_tokens.domain))`,
    )

/** A token whose maker may administer its domain now. Its use is noted once a minute. */
export async function findScimToken(
  db: Db,
  tokenHash: Buffer,
): Promise<Pick<ScimTokenRow, 'id' | 'domain' | 'name' | 'created_by'> | undefined> {
  const found = await usableTokens(db).where('token_hash', '=', tokenHash).executeTakeFirst()
  if (!found) return undefined
  await db
    .updateTable('scim_tokens')
    .set({ last_used_at: sql<Date>`now()` })
    .where('id', '=', found.id)
    .where(sql<boolean>`coalesce(last_used_at < now() - interval '1 minute', true)`)
    .execute()
  return found
}

/** Whether a token that was found before still counts. */
export async function isScimTokenUsable(db: Db, id: string): Promise<boolean> {
  return (await usableTokens(db).where('scim_tokens.id', '=', id).executeTakeFirst()) !== undefined
}

/** Accounts of a domain that a client sees: all but those of superadmins, and those that a client has deleted. */
const users = (db: Db, domain: string) =>
  db
    .selectFrom('users')
    .leftJoin('scim_users', join =>
      join.onRef('scim_users.user_id', '=', 'users.id').onRef('scim_users.domain', '=', 'users.domain'),
    )
    .where('users.domain', '=', domain)
    .where('users.role', '<>', 'superadmin')

const columns = [
  'users.id',
  'users.email',
  'users.name',
  'users.active',
  'users.version',
  'users.created_at',
  'scim_users.external_id',
  'scim_users.attributes',
  'scim_users.changed_at',
] as const
const userName = sql<string>`coalesce(scim_users.user_name, users.email)`
const isHidden = sql<boolean>`coalesce(scim_users.hidden, false)`

export type ScimUserRow = Awaited<ReturnType<typeof listScimUsers>>[number]

/** The value of one attribute, which SQL compares; undefined: all. */
type By<A extends string> = { readonly attribute: A; readonly value: string } | undefined
type ByOfUser = By<'username' | 'externalid' | 'id'>
type ByOfGroup = By<'displayname' | 'externalid' | 'id'>

/** A part of a list, in its order. */
export interface ScimPage {
  readonly offset: number
  readonly limit: number
}

const seen = (db: Db, domain: string, by: ByOfUser) =>
  users(db, domain)
    .where(sql<boolean>`not ${isHidden}`)
    .$if(by?.attribute === 'username', query => query.where(sql<boolean>`lower(${userName}) = lower(${by?.value})`))
    .$if(by?.attribute === 'externalid', query => query.where('scim_users.external_id', '=', by?.value ?? ''))
    .$if(by?.attribute === 'id', query => query.where('users.id', '=', (by?.value ?? '') as UserId))

/** @param page the entries that are read; all if left out */
export async function listScimUsers(db: Db, domain: string, by: ByOfUser, page?: ScimPage) {
  if (by?.attribute === 'id' && !UserId.safeParse(by.value).success) return []
  return seen(db, domain, by)
    .select(columns)
    .select([userName.as('user_name'), isHidden.as('hidden')])
    .orderBy('users.created_at')
    .orderBy('users.id')
    .$if(page !== undefined, query => query.offset(page?.offset ?? 0).limit(page?.limit ?? 0))
    .execute()
}

export async function countScimUsers(db: Db, domain: string, by: ByOfUser): Promise<number> {
  if (by?.attribute === 'id' && !UserId.safeParse(by.value).success) return 0
  const { count } = await seen(db, domain, by)
    .select(sql<number>`count(*)::int`.as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Whether another account of the domain has this userName, or this address. */
export async function isUserNameTaken(db: Db, domain: string, name: string, except: UserId | null): Promise<boolean> {
  const found = await users(db, domain)
    .select('users.id')
    .where(sql<boolean>`not ${isHidden}`)
    .where(sql<boolean>`lower(${userName}) = lower(${name})`)
    .$if(except !== null, query => query.where('users.id', '<>', except ?? ('' as UserId)))
    .executeTakeFirst()
  return found !== undefined
}

/** An account that a client has deleted, by the address. */
export function findHidden(db: Db, domain: string, email: string): Promise<{ id: UserId } | undefined> {
  return users(db, domain)
    .select('users.id')
    .where(isHidden)
    .where(sql<boolean>`lower(users.email) = lower(${email})`)
    .executeTakeFirst()
}

export interface ScimUserNote {
  readonly userName: string
  readonly externalId: string | null
  readonly attributes: Readonly<Record<string, unknown>>
  readonly hidden: boolean
}

export async function putScimUser(trx: Db, userId: UserId, domain: string, note: ScimUserNote): Promise<void> {
  const row = {
    domain,
    user_name: note.userName,
    external_id: note.externalId,
    attributes: JSON.stringify(note.attributes),
    hidden: note.hidden,
    changed_at: sql<Date>`now()`,
  }
  await trx
    .insertInto('scim_users')
    .values({ user_id: userId, ...row })
    .onConflict(conflict => conflict.column('user_id').doUpdateSet(row))
    .execute()
}

const groupName = sql<string>`coalesce(scim_groups.display_name, groups.name)`

export type ScimGroupRow = Awaited<ReturnType<typeof listScimGroups>>[number]

/** Projects of a domain that a client sees: all but `default`, and those that a client has deleted. */
const seenGroups = (db: Db, domain: string, by: ByOfGroup) =>
  db
    .selectFrom('groups')
    .leftJoin('scim_groups', 'scim_groups.group_id', 'groups.id')
    .where('groups.domain', '=', domain)
    .where('groups.name', '<>', DEFAULT_GROUP)
    .where(sql<boolean>`not coalesce(scim_groups.hidden, false)`)
    .$if(by?.attribute === 'displayname', query => query.where(sql<boolean>`lower(${groupName}) = lower(${by?.value})`))
    .$if(by?.attribute === 'externalid', query => query.where('scim_groups.external_id', '=', by?.value ?? ''))
    .$if(by?.attribute === 'id', query => query.where('groups.id', '=', (by?.value ?? '') as GroupId))

/** @param page the entries that are read; all if left out */
export async function listScimGroups(db: Db, domain: string, by: ByOfGroup, page?: ScimPage) {
  if (by?.attribute === 'id' && !GroupId.safeParse(by.value).success) return []
  return seenGroups(db, domain, by)
    .select(['groups.id', 'groups.name', 'groups.version', 'groups.created_at', 'scim_groups.external_id'])
    .select(['scim_groups.changed_at', groupName.as('display_name')])
    .orderBy('groups.created_at')
    .orderBy('groups.id')
    .$if(page !== undefined, query => query.offset(page?.offset ?? 0).limit(page?.limit ?? 0))
    .execute()
}

export async function countScimGroups(db: Db, domain: string, by: ByOfGroup): Promise<number> {
  if (by?.attribute === 'id' && !GroupId.safeParse(by.value).success) return 0
  const { count } = await seenGroups(db, domain, by)
    .select(sql<number>`count(*)::int`.as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** A project that a client has deleted, by the name of the group, or else by its own. */
export function findHiddenGroup(db: Db, domain: string, name: string): Promise<{ id: GroupId } | undefined> {
  return db
    .selectFrom('groups')
    .innerJoin('scim_groups', 'scim_groups.group_id', 'groups.id')
    .select('groups.id')
    .where('scim_groups.hidden', '=', true)
    .where('groups.domain', '=', domain)
    .where(sql<boolean>`lower(${name}) in (lower(scim_groups.display_name), lower(groups.name))`)
    .orderBy(sql<boolean>`lower(scim_groups.display_name) = lower(${name})`, 'desc')
    .executeTakeFirst()
}

export interface ScimGroupNote {
  readonly domain: string
  readonly displayName: string
  readonly externalId: string | null
  readonly hidden: boolean
}

/** @throws an error of the database (`scim_groups_name`) if another group of the domain has the name */
export async function putScimGroup(db: Db, groupId: GroupId, note: ScimGroupNote): Promise<void> {
  const row = {
    domain: note.domain,
    display_name: note.displayName,
    external_id: note.externalId,
    hidden: note.hidden,
    changed_at: sql<Date>`now()`,
  }
  await db
    .insertInto('scim_groups')
    .values({ group_id: groupId, ...row })
    .onConflict(conflict => conflict.column('group_id').doUpdateSet(row))
    .execute()
}

/** Accounts of these ids that a client sees. */
export async function findScimUsers(db: Db, domain: string, ids: readonly UserId[]): Promise<Set<UserId>> {
  const rows = await users(db, domain)
    .select('users.id')
    .where(sql<boolean>`not ${isHidden}`)
    .where(sql<boolean>`users.id = any(${ids}::uuid[])`)
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Members by project: those that a client sees, or also those that it has deleted. */
export async function listScimMembers(
  db: Db,
  groupIds: readonly GroupId[],
  { withHidden = false }: { readonly withHidden?: boolean } = {},
): Promise<Map<GroupId, { readonly id: UserId; readonly name: string }[]>> {
  if (groupIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('group_members')
    .innerJoin('users', 'users.id', 'group_members.user_id')
    .leftJoin('scim_users', join =>
      join.onRef('scim_users.user_id', '=', 'users.id').onRef('scim_users.domain', '=', 'users.domain'),
    )
    .select(['group_members.group_id', 'users.id', 'users.name'])
    .where('group_members.group_id', 'in', groupIds)
    .where('users.role', '<>', 'superadmin')
    .$if(!withHidden, query => query.where(sql<boolean>`not ${isHidden}`))
    .orderBy('users.id')
    .execute()
  const byGroup = Map.groupBy(rows, row => row.group_id)
  return new Map(
    [...byGroup].map(([id, members]) => [id, members.map(({ id: userId, name }) => ({ id: userId, name }))]),
  )
}
