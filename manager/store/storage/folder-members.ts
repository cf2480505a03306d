import { sql } from 'kysely'
import {
  type FolderId,
  type FolderInvitationId,
  type FolderPermission,
  type GroupId,
  LIVE_STATUSES,
  type UserId,
} from '#manager/contract'
import { ACCOUNT_HOLDS, accountHolds, enteredSince } from '../identity/users.ts'
import { type Db } from '../schema.ts'

export interface MemberRow {
  readonly user_id: UserId
  readonly email: string
  readonly name: string
  readonly permission: FolderPermission
  readonly joined_at: Date
  /** Number of live sessions of the member that mount the folder. */
  readonly sessions: number
}

/** `ended`: whether the inviter has lost the right to share the folder. */
export interface InvitationRow {
  readonly id: FolderInvitationId
  readonly email: string
  readonly permission: FolderPermission
  readonly created_at: Date
  readonly expires_at: Date
  readonly ended: boolean
}

const NOW = sql<Date>`now()`
const isOpen = sql<boolean>`folder_invitations.expires_at > now()`
/** Same rule as `manages`, applied to the inviter's current account, which must be active: rights are read when they are used (ADR 60). */
const ended = sql<boolean>`not exists (
  select from users inviter join folders f on f.id = folder_invitations.folder_id left join groups g on g.id = f.group_id
  where inviter.id = folder_invitations.invited_by and ${accountHolds('inviter')} and (f.user_id = inviter.id
    or (g.id is not null and inviter.role = 'superadmin') or (inviter.role = 'domain_admin' and inviter.domain = g.domain)))`
const COLUMNS = ['id', 'email', 'permission', 'created_at', 'expires_at'] as const
const INVITATION = [...COLUMNS, ended.as('ended')] as const

const liveSessions = sql<number>`(
  select count(distinct s.id) from session_folders f join sessions s on s.id = f.session_id
  where f.folder_id = folder_members.folder_id and s.owner_id = folder_members.user_id
    and s.status in (${sql.join(LIVE_STATUSES)}))::int`

const selectMembers = (db: Db, id: FolderId) =>
  db
    .selectFrom('folder_members')
    .innerJoin('users', 'users.id', 'folder_members.user_id')
    .select(['users.id as user_id', 'users.email', 'users.name'])
    .select(['folder_members.permission', 'folder_members.joined_at', liveSessions.as('sessions')])
    .where('folder_members.folder_id', '=', id)

/** Ordered by address. */
export function listMembers(db: Db, id: FolderId): Promise<MemberRow[]> {
  return selectMembers(db, id)
    .orderBy(sql`lower(users.email)`)
    .execute()
}

export function findMember(db: Db, id: FolderId, userId: UserId): Promise<MemberRow | undefined> {
  return selectMembers(db, id).where('users.id', '=', userId).executeTakeFirst()
}

/** Adds a member, or changes the member's permission. */
export async function saveMember(db: Db, id: FolderId, userId: UserId, permission: FolderPermission): Promise<void> {
  await db
    .insertInto('folder_members')
    .values({ folder_id: id, user_id: userId, permission })
    .onConflict(conflict => conflict.columns(['folder_id', 'user_id']).doUpdateSet({ permission, changed_at: NOW }))
    .execute()
}

/** @returns false if there is no such member */
export async function setMemberPermission(
  db: Db,
  id: FolderId,
  userId: UserId,
  permission: FolderPermission,
): Promise<boolean> {
  const query = db.updateTable('folder_members').set({ permission, changed_at: NOW }).where('folder_id', '=', id)
  return (await query.where('user_id', '=', userId).executeTakeFirst()).numUpdatedRows === 1n
}

/** @returns false if there is no such member */
export async function deleteMember(db: Db, id: FolderId, userId: UserId): Promise<boolean> {
  const query = db.deleteFrom('folder_members').where('folder_id', '=', id)
  return (await query.where('user_id', '=', userId).executeTakeFirst()).numDeletedRows === 1n
}

export async function isMemberByEmail(db: Db, id: FolderId, email: string): Promise<boolean> {
  const row = await selectMembers(db, id)
    .where(sql`lower(users.email)`, '=', email.toLowerCase())
    .executeTakeFirst()
  return row !== undefined
}

/** Invitations to one folder that are not accepted and have not expired, ordered by address. */
export function listInvitationsTo(db: Db, id: FolderId): Promise<InvitationRow[]> {
  return db
    .selectFrom('folder_invitations')
    .select(INVITATION)
    .where('folder_id', '=', id)
    .where(isOpen)
    .orderBy(sql`lower(email)`)
    .execute()
}

/** Creates an invitation, or replaces the one to the same address. */
export function saveInvitation(
  db: Db,
  invitation: {
    readonly id: FolderInvitationId
    readonly folder_id: FolderId
    readonly email: string
    readonly permission: FolderPermission
    readonly invited_by: UserId
  },
  days: number,
): Promise<InvitationRow> {
  const expires_at = sql<Date>`now() + make_interval(days => ${days})`
  const { id, email, permission, invited_by } = invitation
  return db
    .insertInto('folder_invitations')
    .values({ ...invitation, expires_at })
    .onConflict(conflict =>
      conflict
        .expression(sql`folder_id, lower(email)`)
        .doUpdateSet({ id, email, permission, invited_by, expires_at, created_at: NOW, changed_at: NOW }),
    )
    .returning(INVITATION)
    .executeTakeFirstOrThrow()
}

/** @returns undefined if the invitation is not open any more */
export function setInvitationPermission(
  db: Db,
  id: FolderId,
  invitationId: FolderInvitationId,
  permission: FolderPermission,
): Promise<InvitationRow | undefined> {
  return db
    .updateTable('folder_invitations')
    .set({ permission, changed_at: NOW })
    .where('id', '=', invitationId)
    .where('folder_id', '=', id)
    .where(isOpen)
    .returning(INVITATION)
    .executeTakeFirst()
}

/** @returns its address; undefined if the folder has no such invitation */
export async function deleteInvitationTo(
  db: Db,
  id: FolderId,
  invitationId: FolderInvitationId,
): Promise<string | undefined> {
  const query = db.deleteFrom('folder_invitations').where('id', '=', invitationId).where('folder_id', '=', id)
  return (await query.returning('email').executeTakeFirst())?.email
}

export interface ReceivedRow extends Omit<InvitationRow, 'ended'> {
  readonly folder_id: FolderId
  readonly folder_name: string
  readonly group_id: GroupId | null
  readonly group_name: string | null
  readonly from_email: string
  readonly from_name: string
}

/**
 * Open invitations to the address of the user, newest first: only to folders outside the trash and in the user's domain, because domains
 * are separate. Invitations whose inviter may not share the folder any more are left out. While an admin may have access to the account,
 * invitations sent before that are left out too: they were meant for the person alone.
 */
export function listReceived(db: Db, userId: UserId): Promise<ReceivedRow[]> {
  return db
    .selectFrom('folder_invitations')
    .innerJoin('users as me', join =>
      join
        .on('me.id', '=', userId)
        .on(sql<boolean>`lower(me.email) = lower(folder_invitations.email)`)
        .on('me.email_verified_at', 'is not', null),
    )
    .innerJoin('folders', 'folders.id', 'folder_invitations.folder_id')
    .leftJoin('groups', 'groups.id', 'folders.group_id')
    .leftJoin('users as owners', 'owners.id', 'folders.user_id')
    .innerJoin('users as inviters', 'inviters.id', 'folder_invitations.invited_by')
    .select(['folder_invitations.id', 'folder_invitations.email', 'folder_invitations.permission'])
    .select(['folder_invitations.created_at', 'folder_invitations.expires_at'])
    .select(['folders.id as folder_id', 'folders.name as folder_name', 'folders.group_id', 'groups.name as group_name'])
    .select(['inviters.email as from_email', 'inviters.name as from_name'])
    .where(isOpen)
    .where(sql<boolean>`not ${ended}`)
    .where('folders.status', '=', 'ready')
    .where(sql<boolean>`me.domain = coalesce(owners.domain, groups.domain)`)
    .where(sql<boolean>`not ${enteredSince('me', sql.ref('folder_invitations.created_at'))}`)
    .orderBy('folder_invitations.created_at', 'desc')
    .orderBy('folder_invitations.id', 'desc')
    .execute()
}

/** @returns id of the user with an active account who sees invitations to this address in the domain of the folder */
export async function findInvitee(db: Db, id: FolderId, email: string): Promise<UserId | undefined> {
  const row = await db
    .selectFrom('users')
    .innerJoin('folders', join => join.on('folders.id', '=', id))
    .leftJoin('groups', 'groups.id', 'folders.group_id')
    .leftJoin('users as owners', 'owners.id', 'folders.user_id')
    .select('users.id')
    .where(sql`lower(users.email)`, '=', email.toLowerCase())
    .where(ACCOUNT_HOLDS)
    .where('users.email_verified_at', 'is not', null)
    .where(sql<boolean>`users.domain = coalesce(owners.domain, groups.domain)`)
    .executeTakeFirst()
  return row?.id
}

/** Owner and members of a folder, and whether a project owns it. */
export async function listConcerned(db: Db, id: FolderId): Promise<{ isOfProject: boolean; users: UserId[] }> {
  const folder = await db.selectFrom('folders').select(['user_id']).where('id', '=', id).executeTakeFirst()
  const members = await db.selectFrom('folder_members').select('user_id').where('folder_id', '=', id).execute()
  const users = [folder?.user_id, ...members.map(({ user_id }) => user_id)].filter(user => user !== undefined)
  return { isOfProject: folder?.user_id === null, users: users.filter(user => user !== null) }
}
