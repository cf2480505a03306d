import { sql } from 'kysely'
import { type GroupId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Whom access is given to: exactly one of them is set. */
export interface AccessHolder {
  readonly domain: string | null
  readonly groupId: GroupId | null
  readonly userId: UserId | null
}

type Holder = { readonly [K in keyof AccessHolder]?: AccessHolder[K] | undefined }

/** Who may use a resource group, with names for people. */
export interface AccessRow extends AccessHolder {
  readonly groupName: string | null
  readonly email: string | null
}

export async function listAccess(db: Db, resourceGroup: string): Promise<AccessRow[]> {
  const { rows } = await sql<AccessRow>`
    select a.domain, a.group_id as "groupId", a.user_id as "userId", u.email,
           case when g.id is null then null else g.domain || '/' || g.name end as "groupName"
    from resource_group_access a left join groups g on g.id = a.group_id left join users u on u.id = a.user_id
    where a.resource_group = ${resourceGroup}
    order by a.domain nulls last, "groupName" nulls last, u.email`.execute(db)
  return rows
}

/** Safe to repeat. Fails with SQLSTATE 23503 where one of them does not exist. */
export async function grantAccess(db: Db, resourceGroup: string, holder: Holder): Promise<void> {
  const { domain = null, groupId = null, userId = null } = holder
  await db
    .insertInto('resource_group_access')
    .values({ resource_group: resourceGroup, domain, group_id: groupId, user_id: userId })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

/** Safe to repeat. */
export async function withdrawAccess(db: Db, resourceGroup: string, holder: Holder): Promise<void> {
  const { domain = null, groupId = null, userId = null } = holder
  await sql`
    delete from resource_group_access where resource_group = ${resourceGroup}
      and domain is not distinct from ${domain}::text and group_id is not distinct from ${groupId}::uuid
      and user_id is not distinct from ${userId}::uuid`.execute(db)
}

/** For whom a session is, or would be. */
export interface AccessSubject {
  readonly ownerId: UserId
  readonly domain: string
  /** Null asks for access through any of the user's groups. */
  readonly groupId: GroupId | null
}

/**
 * Names of the resource groups that somebody may use, without those that only superadmins may. Deny by default.
 */
export async function listAccessible(db: Db, { ownerId, domain, groupId }: AccessSubject): Promise<Set<string>> {
  const groups =
    groupId === null
      ? sql`a.group_id in (select group_id from group_members where user_id = ${ownerId}::uuid)`
      : sql`a.group_id = ${groupId}::uuid`
  const { rows } = await sql<{ name: string }>`
    select distinct a.resource_group as name from resource_group_access a
    where a.domain = ${domain} or a.user_id = ${ownerId}::uuid or ${groups}`.execute(db)
  return new Set(rows.map(row => row.name))
}
