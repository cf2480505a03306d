import { sql } from 'kysely'
import { FINISHED_STATUSES, type GroupId, OCCUPYING_STATUSES, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

/** The sessions of one project, domain or resource group. */
export type SessionsOf =
  | { readonly groupId: GroupId }
  | { readonly domain: string }
  | { readonly resourceGroup: string }

export interface SessionCounts {
  /** Sessions that have not ended, or whose containers still hold resources. */
  readonly live: number
  /** Records of sessions that have ended and hold nothing. */
  readonly ended: number
}

const isOver = sql<boolean>`(s.status in (${sql.join(FINISHED_STATUSES)}) and not exists (
  select from kernels k where k.session_id = s.id and k.status in (${sql.join(OCCUPYING_STATUSES)})))`

function belongsTo(of: SessionsOf) {
  if ('groupId' in of) return sql<boolean>`s.group_id = ${of.groupId}::uuid`
  return 'domain' in of ? sql<boolean>`s.domain = ${of.domain}` : sql<boolean>`s.resource_group = ${of.resourceGroup}`
}

export async function countSessionsOf(db: Db, of: SessionsOf): Promise<SessionCounts> {
  const { rows } = await sql<SessionCounts>`
    select (count(*) filter (where not ${isOver}))::int as live, (count(*) filter (where ${isOver}))::int as ended
    from sessions s where ${belongsTo(of)}`.execute(db)
  return rows[0] ?? { live: 0, ended: 0 }
}

/** Deletes ended sessions with their kernels, events and statistics. @returns how many; if it is `limit`, there may be more */
export async function deleteEndedSessions(db: Db, of: SessionsOf, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from sessions where id = any(array(
      select s.id from sessions s where ${belongsTo(of)} and ${isOver} limit ${limit}
    ))`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/**
 * Locks a project: until the transaction ends, nobody joins it and no session is created in it. @returns false if the project does not
 * exist
 */
export async function lockGroup(trx: Db, id: GroupId): Promise<boolean> {
  const row = await trx.selectFrom('groups').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
  return row !== undefined
}

export interface TouchedUser {
  readonly id: UserId
  readonly domain: string
  readonly version: number
}

/** Removes all members of a project and increments the version of each. */
export async function removeAllMembers(trx: Db, id: GroupId): Promise<TouchedUser[]> {
  const { rows } = await sql<TouchedUser>`
    with gone as (delete from group_members where group_id = ${id}::uuid returning user_id)
    update users set version = version + 1 from gone where users.id = gone.user_id
    returning users.id, users.domain, users.version`.execute(trx)
  return rows
}

export async function deleteGroup(trx: Db, id: GroupId): Promise<void> {
  await trx.deleteFrom('groups').where('id', '=', id).execute()
}

/** Locks a domain: until the transaction ends, nothing is added to it. @returns undefined if no domain has this name */
export function lockDomain(trx: Db, name: string): Promise<{ active: boolean } | undefined> {
  return trx.selectFrom('domains').select('active').where('name', '=', name).forUpdate().executeTakeFirst()
}

export interface DomainContent {
  readonly users: number
  /** Number of projects, except the one named `spared`. */
  readonly projects: number
  readonly openInvitations: number
}

/** @param spared name of the project that is deleted with its domain, and not counted */
export async function countInDomain(db: Db, name: string, spared: string): Promise<DomainContent> {
  const { rows } = await sql<DomainContent>`
    select (select count(*) from users where domain = ${name})::int as users,
           (select count(*) from groups where domain = ${name} and groups.name <> ${spared})::int as projects,
           (select count(*) from invitations where domain = ${name} and used_at is null and expires_at > now())::int
             as "openInvitations"`.execute(db)
  return rows[0] ?? { users: 0, projects: 0, openInvitations: 0 }
}

/**
 * Deletes a domain with its projects and invitations. Its name is also removed from the lists of images, so that a new domain of the same
 * name does not get them; an image with an empty list is for superadmins only.
 */
export async function deleteDomain(trx: Db, name: string): Promise<void> {
  await sql`update image_domains set domains = array_remove(domains, ${name}) where ${name} = any(domains)`.execute(trx)
  await trx.deleteFrom('invitations').where('domain', '=', name).execute()
  await trx.deleteFrom('groups').where('domain', '=', name).execute()
  await trx.deleteFrom('domains').where('name', '=', name).execute()
}

/**
 * Keeps the resource group from being deleted until the transaction ends: for transactions that add sessions or agents.
 * @returns false if no resource group has this name
 */
export async function holdResourceGroup(trx: Db, name: string): Promise<boolean> {
  const row = await trx
    .selectFrom('resource_groups')
    .select('name')
    .where('name', '=', name)
    .forKeyShare()
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Locks the resource group: until the transaction ends, no session and no agent is added to it. @returns false if no resource group has
 * this name
 */
export async function lockResourceGroupRow(trx: Db, name: string): Promise<boolean> {
  const query = trx.selectFrom('resource_groups').select('name').where('name', '=', name).forUpdate()
  return (await query.executeTakeFirst()) !== undefined
}

/** Names of the agents in the resource group that are not revoked. */
export async function listAgentNames(db: Db, resourceGroup: string): Promise<string[]> {
  const rows = await db
    .selectFrom('agents')
    .select('name')
    .where('resource_group', '=', resourceGroup)
    .where('status', '<>', 'REVOKED')
    .orderBy('name')
    .execute()
  return rows.map(row => row.name)
}

/** Deletes a resource group with its join tokens, access rules and reservation. Records of ended sessions keep its name. */
export async function deleteResourceGroup(trx: Db, name: string): Promise<void> {
  await trx.deleteFrom('join_tokens').where('resource_group', '=', name).execute()
  await trx.deleteFrom('reservations').where('resource_group', '=', name).execute()
  await trx.deleteFrom('interruptions').where('resource_group', '=', name).execute()
  await trx.deleteFrom('resource_groups').where('name', '=', name).execute()
}
