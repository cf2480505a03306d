import {
  type Expression,
  type ExpressionBuilder,
  type RawBuilder,
  sql,
  type Selectable,
  type SqlBool,
  type Updateable,
} from 'kysely'
import { type Complete, defined } from '#base/defined'
import {
  type Group,
  type GroupChange,
  type GroupId,
  type GroupOrder,
  type GroupRef,
  perProjectLimit,
  PROJECT_LIMIT_NAMES,
  PROJECT_LIMITS,
  type ProjectLimitColumn,
  type ResourceSlots,
  type StoredGpuLimit,
  type UserId,
} from '#manager/contract'
import { valuesAtEnd } from '../page-end.ts'
import { type Database, type Db } from '../schema.ts'
import { type GroupsTable } from '../tables/identity.ts'

export type GroupRow = Selectable<GroupsTable>
export type CountedGroupRow = GroupRow & { readonly members: number }

/** Groups that a caller may see: those of `member`, or those of the domain; all if left out. */
export type VisibleGroups = { readonly member: UserId } | { readonly domain: string }

export interface GroupFilter {
  readonly visible?: VisibleGroups | undefined
  readonly domain?: string | undefined
  readonly active?: boolean | undefined
  /** Part of `domain/name`, the description or the id, in any letter case. */
  readonly search?: string | undefined
}

export interface GroupPage extends GroupFilter {
  /** Undefined: no limit. */
  readonly limit?: number | undefined
  /** The last group of the previous page; the list ends early if it was deleted or hidden meanwhile. */
  readonly after?: GroupId | undefined
  readonly order?: GroupOrder | undefined
  readonly descending?: boolean | undefined
}

const counted = (db: Db) =>
  db
    .selectFrom('groups')
    .selectAll('groups')
    .select(eb =>
      eb
        .selectFrom('group_members')
        .select(eb.fn.countAll<number>().as('count'))
        .whereRef('group_members.group_id', '=', 'groups.id')
        .$castTo<{ count: number }>()
        .as('members'),
    )
    .$castTo<CountedGroupRow>()

const ORDER_BY: Readonly<Record<GroupOrder, RawBuilder<unknown>>> = {
  domain: sql`groups.domain`,
  name: sql`lower(groups.name)`,
  members: sql`(select count(*) from group_members where group_id = groups.id)`,
  state: sql`not groups.active`,
}

/** Groups, each with its number of members, ordered by domain and name unless the page sets another order. */
export function listGroups(db: Db, page: GroupPage = {}): Promise<CountedGroupRow[]> {
  const { order = 'domain', descending = false, limit, after } = page
  const direction = descending ? 'desc' : 'asc'
  const key = sql`${ORDER_BY[order]}, lower(groups.name), groups.id`
  let query = counted(db)
    .where(matching(page))
    .orderBy(ORDER_BY[order], direction)
    .orderBy(sql`lower(groups.name)`, direction)
    .orderBy('groups.id', direction)
  if (after !== undefined) {
    const comes = sql.raw(descending ? '<' : '>')
    query = query.where(eb => {
      const seen = seenBy(eb, page.visible)
      const last = valuesAtEnd({ values: key, from: sql`groups`, is: sql`groups.id = ${after}`, seen })
      return sql<boolean>`(${key}) ${comes} ${last}`
    })
  }
  return (limit === undefined ? query : query.limit(limit)).execute()
}

export async function countGroups(db: Db, filter: GroupFilter): Promise<number> {
  const { count } = await db
    .selectFrom('groups')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(matching(filter))
    .executeTakeFirstOrThrow()
  return count
}

function seenBy(eb: ExpressionBuilder<Database, 'groups'>, visible: GroupFilter['visible']): Expression<SqlBool> {
  if (visible === undefined) return sql<boolean>`true`
  if ('domain' in visible) return eb('groups.domain', '=', visible.domain)
  return eb('groups.id', 'in', eb.selectFrom('group_members').select('group_id').where('user_id', '=', visible.member))
}

function matching({ visible, domain, active, search }: GroupFilter) {
  return (eb: ExpressionBuilder<Database, 'groups'>) =>
    eb.and([
      seenBy(eb, visible),
      ...(domain === undefined ? [] : [eb('groups.domain', '=', domain)]),
      ...(active === undefined ? [] : [eb('groups.active', '=', active)]),
      ...(search
        ? [
            sql<boolean>`position(${search.toLowerCase()} in
              lower(groups.domain || '/' || groups.name || ' ' || groups.description || ' ' || groups.id::text)) > 0`,
          ]
        : []),
    ])
}

/** Groups of a user, ordered by name. Read at every launch, so members are not counted. */
export function listMemberships(db: Db, userId: UserId, domain?: string): Promise<GroupRow[]> {
  const query = db
    .selectFrom('group_members')
    .innerJoin('groups', 'groups.id', 'group_members.group_id')
    .selectAll('groups')
    .where('group_members.user_id', '=', userId)
    .orderBy(sql`lower(groups.name)`)
  return (domain === undefined ? query : query.where('groups.domain', '=', domain)).execute()
}

export function findGroup(db: Db, id: GroupId): Promise<CountedGroupRow | undefined> {
  return counted(db).where('groups.id', '=', id).executeTakeFirst()
}

/** Groups of the domain, or of all domains, with these ids or names, in any letter case. */
export async function findGroups(db: Db, domain: string | undefined, names: readonly string[]): Promise<GroupRow[]> {
  if (names.length === 0) return []
  const wanted = names.map(name => name.toLowerCase())
  const query = db
    .selectFrom('groups')
    .selectAll()
    .where(eb => eb.or([eb(sql`lower(name)`, 'in', wanted), eb(sql`id::text`, 'in', wanted)]))
  return (domain === undefined ? query : query.where('domain', '=', domain)).execute()
}

/** Settings to store; `limits` are in base units. A setting that is left out keeps its value, or the default of its column. */
export type GroupSettings = Omit<GroupChange, 'name' | 'limits' | 'gpuLimits'> & {
  readonly limits?: ResourceSlots | undefined
  readonly gpuLimits?: readonly StoredGpuLimit[] | undefined
}

/** The columns of a group's settings. */
type SettingColumns = Omit<Updateable<GroupsTable>, 'id' | 'domain' | 'name' | 'created_at' | 'version'>

/** @returns undefined if the domain has a group of this name already */
export async function insertGroup(
  db: Db,
  group: GroupSettings & { readonly id: GroupId; readonly domain: string; readonly name: string },
): Promise<GroupRow | undefined> {
  const { id, domain, name } = group
  return db
    .insertInto('groups')
    .values({ id, domain, name, ...columnsOf(group) })
    .onConflict(conflict => conflict.expression(sql`domain, lower(name)`).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/**
 * Fields that are left out keep their values. Fails with SQLSTATE 23505 if another group of the domain has that name.
 * @returns false if there is no such group
 */
export async function updateGroup(
  db: Db,
  id: GroupId,
  { name, ...settings }: GroupSettings & { readonly name?: string | undefined },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('groups')
    .set({ ...defined({ name }), ...columnsOf(settings), version: sql`version + 1` })
    .where('id', '=', id)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** A column of `SettingColumns` that is missing here is a compile error. */
function columnsOf({ description, limits, gpuLimits, active, ...numbers }: GroupSettings) {
  const limitColumns = PROJECT_LIMIT_NAMES.map(name => [PROJECT_LIMITS[name].column, numbers[name]] as const)
  const columns: Complete<SettingColumns> = {
    ...(Object.fromEntries(limitColumns) as Record<ProjectLimitColumn, number | null | undefined>),
    description,
    limits: limits && JSON.stringify(limits),
    gpu_limits: gpuLimits && JSON.stringify(gpuLimits),
    active,
  }
  return defined(columns)
}

/** Settings that are answered as they are stored: all except those of slots and models. */
export function settingsOf(row: GroupRow): Omit<Pick<Group, keyof GroupSettings>, 'limits' | 'gpuLimits'> {
  return {
    ...perProjectLimit(name => row[PROJECT_LIMITS[name].column]),
    description: row.description,
    active: row.active,
  }
}

/** Adds the user to these groups; existing memberships are kept. */
export async function addMembers(db: Db, groupIds: readonly GroupId[], userId: UserId): Promise<void> {
  if (groupIds.length === 0) return
  await db
    .insertInto('group_members')
    .values(groupIds.map(group_id => ({ group_id, user_id: userId })))
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

/** Shares of sessions of the project are removed with the membership. */
export async function removeMembers(db: Db, userId: UserId, groupIds: readonly GroupId[]): Promise<void> {
  if (groupIds.length === 0) return
  await db.deleteFrom('group_members').where('user_id', '=', userId).where('group_id', 'in', groupIds).execute()
}

/** Removes the user from all other groups, like `removeMembers`. */
export async function keepMemberships(db: Db, userId: UserId, groupIds: readonly GroupId[]): Promise<void> {
  const query = db.deleteFrom('group_members').where('user_id', '=', userId)
  await (groupIds.length === 0 ? query : query.where('group_id', 'not in', groupIds)).execute()
}

/** The groups of each of these users, ordered by name. */
export async function listGroupsOf(db: Db, userIds: readonly UserId[]): Promise<Map<UserId, GroupRef[]>> {
  if (userIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('group_members')
    .innerJoin('groups', 'groups.id', 'group_members.group_id')
    .select(['group_members.user_id', 'groups.id', 'groups.name'])
    .where(sql<boolean>`group_members.user_id = any(${userIds}::uuid[])`)
    .orderBy(sql`lower(groups.name)`)
    .execute()
  const byUser = Map.groupBy(rows, row => row.user_id)
  return new Map([...byUser].map(([userId, groups]) => [userId, groups.map(({ id, name }) => ({ id, name }))]))
}

/** Ids of all groups of a user, in a fixed order. */
export async function listGroupIds(db: Db, userId: UserId): Promise<GroupId[]> {
  const rows = await db
    .selectFrom('group_members')
    .select('group_id')
    .where('user_id', '=', userId)
    .orderBy('group_id')
    .execute()
  return rows.map(row => row.group_id)
}
