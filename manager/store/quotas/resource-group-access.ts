import { sql } from 'kysely'
import { type GroupId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Holder of an access grant: exactly one of the three is set. */
export interface AccessHolder {
  readonly domain: string | null
  readonly groupId: GroupId | null
  readonly userId: UserId | null
}

type Holder = { readonly [K in keyof AccessHolder]?: AccessHolder[K] | undefined }

/** A grant of access to a resource group, with display names. */
export interface AccessRow extends AccessHolder {
  readonly resourceGroup: string
  readonly groupName: string | null
  readonly email: string | null
}

/** @param only the single resource group to list; all if left out */
export async function listAccess(db: Db, only?: string): Promise<AccessRow[]> {
  const { rows } = await sql<AccessRow>`
    select a.resource_group as "resourceGroup", a.domain, a.group_id as "groupId", a.user_id as "userId", u.email,
           case when g.id is null then null else g.domain || '/' || g.name end as "groupName"
    from resource_group_access a left join groups g on g.id = a.group_id left join users u on u.id = a.user_id
    ${only === undefined ? sql`` : sql`where a.resource_group = ${only}`}
    order by a.resource_group, a.domain nulls last, "groupName" nulls last, u.email`.execute(db)
  return rows
}

/** Idempotent. Fails with SQLSTATE 23503 if the resource group or the holder does not exist. */
export async function grantAccess(db: Db, resourceGroup: string, holder: Holder): Promise<void> {
  const { domain = null, groupId = null, userId = null } = holder
  await db
    .insertInto('resource_group_access')
    .values({ resource_group: resourceGroup, domain, group_id: groupId, user_id: userId })
    .onConflict(conflict => conflict.doNothing())
    .execute()
}

/** Idempotent. */
export async function withdrawAccess(db: Db, resourceGroup: string, holder: Holder): Promise<void> {
  const { domain = null, groupId = null, userId = null } = holder
  await sql`
    delete from resource_group_access where resource_group = ${resourceGroup}
      and domain is not distinct from ${domain}::text and group_id is not distinct from ${groupId}::uuid
      and user_id is not distinct from ${userId}::uuid`.execute(db)
}

/** Owner, domain and project of an existing or planned session. */
export interface AccessSubject {
  readonly ownerId: UserId
  readonly domain: string
  /** Null asks for access through any of the user's groups. */
  readonly groupId: GroupId | null
}

/** Names of the resource groups that the subject may use by a grant. Superadmins have access to all groups; this is not included. */
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
