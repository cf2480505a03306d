import { type RawBuilder, sql, type Selectable } from 'kysely'
import { defined } from '#base/defined'
import {
  type FolderId,
  type FolderPermission,
  type FolderStatus,
  type FolderUsageMode,
  type GroupId,
  LIVE_STATUSES,
  OCCUPYING_STATUSES,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type Db } from '../schema.ts'
import { seenBy, type SessionFilter } from '../sessions/session-list.ts'
import { type FoldersTable } from '../tables/storage.ts'

/** A folder with the data of its owner and of one user that views and access rules need. */
export type FolderRow = Selectable<FoldersTable> & {
  /** Null for the folder of a project, as `owner_name`. */
  readonly owner_email: string | null
  readonly owner_name: string | null
  readonly group_name: string | null
  /** Domain of the project; null for the folder of a user. */
  readonly group_domain: string | null
  /** False: an admin has deactivated the project. Null for the folder of a user. */
  readonly group_active: boolean | null
  /** Whether the user for whom the folder was read is in its project. */
  readonly is_member: boolean
  /** Permission of that user by an invitation that they accepted. */
  readonly invited_permission: FolderPermission | null
  /** Number of members and open invitations. */
  readonly shared_with: number
  /** Measured size; null if it was not measured, or if measuring took too long. */
  readonly usage_bytes: number | null
  readonly usage_files: number | null
  readonly measured_at: Date | null
  /** Time that measuring took. */
  readonly took_ms: number | null
  /** The limit for all folders of its owner together, by the owner's resource policy; null = unlimited. */
  readonly owner_max_bytes: number | null
  /** The limit for the files in all folders of its owner together; null = unlimited. */
  readonly owner_max_files: number | null
  /** Whether it is still being filled with a copy of another folder. */
  readonly is_cloning: boolean
}

/** A user, or the expression for one in a query with `folders`, their `owners` and their `groups`. */
type UserIn = UserId | RawBuilder<UserId>

export const isMember = (user: UserIn) => sql<boolean>`exists (
  select from group_members m where m.group_id = folders.group_id and m.user_id = ${user}::uuid)`

/** Domains are separate: a member who was moved to another domain sees the folder again only after moving back. */
export const invitedPermission = (user: UserIn) => sql<FolderPermission | null>`(
  select m.permission from folder_members m join users u on u.id = m.user_id
  where m.folder_id = folders.id and m.user_id = ${user}::uuid and u.domain = coalesce(owners.domain, groups.domain))`

const sharedWith = sql<number>`((select count(*) from folder_members m where m.folder_id = folders.id)
  + (select count(*) from folder_invitations i where i.folder_id = folders.id and i.expires_at > now()))::int`

const isCloning = sql<boolean>`exists (select from folder_clones c where c.folder_id = folders.id)`

const selectFolders = (db: Db, member: UserId) =>
  db
    .selectFrom('folders')
    .leftJoin('groups', 'groups.id', 'folders.group_id')
    .leftJoin('users as owners', 'owners.id', 'folders.user_id')
    .leftJoin('resource_policies as policies', 'policies.name', 'owners.resource_policy')
    .leftJoin('folder_usage as usage', 'usage.folder_id', 'folders.id')
    .selectAll('folders')
    .select(['groups.name as group_name', 'groups.domain as group_domain', 'groups.active as group_active'])
    .select(['owners.email as owner_email', 'owners.name as owner_name'])
    // A folder has an owner or a project, never both.
    .select(eb => eb.fn.coalesce('policies.max_folder_bytes', 'groups.max_folder_bytes').as('owner_max_bytes'))
    .select(eb => eb.fn.coalesce('policies.max_folder_files', 'groups.max_folder_files').as('owner_max_files'))
    .select(['usage.bytes as usage_bytes', 'usage.files as usage_files', 'usage.measured_at', 'usage.took_ms'])
    .select([
      isMember(member).as('is_member'),
      invitedPermission(member).as('invited_permission'),
      sharedWith.as('shared_with'),
      isCloning.as('is_cloning'),
    ])

export interface FolderFilter {
  readonly status: FolderStatus
  /** Folders of this user, of the projects that the user is in, and those that the user was invited to. */
  readonly member: UserId
  /** Also the folders of all projects of this domain; `true`: of all projects. */
  readonly administers?: string | true | undefined
}

/** Folders of the user first, then those of others, then those of projects, each ordered by name. */
export function listFolders(db: Db, { status, member, administers }: FolderFilter): Promise<FolderRow[]> {
  return selectFolders(db, member)
    .where('folders.status', '=', status)
    .where(eb =>
      eb.or([
        eb('folders.user_id', '=', member),
        isMember(member),
        sql<boolean>`${invitedPermission(member)} is not null`,
        ...(administers === undefined
          ? []
          : [administers === true ? eb('folders.group_id', 'is not', null) : eb('groups.domain', '=', administers)]),
      ]),
    )
    .orderBy(sql`case when folders.user_id = ${member}::uuid then 0 when folders.user_id is not null then 1 else 2 end`)
    .orderBy(sql`lower(folders.name)`)
    .orderBy('folders.id')
    .execute()
}

/** @param member the user for whom `is_member` is read */
export function findFolder(db: Db, id: FolderId, member: UserId): Promise<FolderRow | undefined> {
  return selectFolders(db, member).where('folders.id', '=', id).executeTakeFirst()
}

export interface NewFolder {
  readonly id: FolderId
  readonly name: string
  readonly storage_host: string
  readonly user_id: UserId | null
  readonly group_id: GroupId | null
  readonly usage_mode: FolderUsageMode
  readonly permission: FolderPermission
  readonly max_bytes: number | null
  readonly max_files: number | null
}

/** Fails with SQLSTATE 23505 if the owner has a folder of this name, and 23503 if the project is gone. */
export async function insertFolder(db: Db, folder: NewFolder): Promise<void> {
  await db.insertInto('folders').values(folder).execute()
}

/** Locks the row until the transaction ends: meanwhile no session takes the folder. */
export async function lockFolder(trx: Db, id: FolderId): Promise<boolean> {
  const row = await trx.selectFrom('folders').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
  return row !== undefined
}

/** Prevents these folders from being moved to the trash until the transaction ends. @returns ids of those that are ready */
export async function holdFolders(trx: Db, ids: readonly FolderId[]): Promise<Set<FolderId>> {
  if (ids.length === 0) return new Set()
  const rows = await trx
    .selectFrom('folders')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '=', 'ready')
    .orderBy('id')
    .forShare()
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** Names of those of these folders that are not being deleted. None of them is deleted until the transaction ends. */
export async function readFolderNames(trx: Db, ids: readonly FolderId[]): Promise<Map<FolderId, string>> {
  if (ids.length === 0) return new Map()
  const query = trx
    .selectFrom('folders')
    .select(['id', 'name'])
    .where('id', 'in', ids)
    .where('status', '!=', 'deleting')
  return new Map((await query.forShare().execute()).map(({ id, name }) => [id, name]))
}

/** Owners of these folders, in any state: a person or a project. */
export async function listFolderOwners(
  db: Db,
  ids: readonly FolderId[],
): Promise<Map<FolderId, Pick<FolderRow, 'user_id' | 'group_id'>>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('folders').select(['id', 'user_id', 'group_id']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, ...owner }) => [id, owner]))
}

export interface FolderUpdate {
  readonly name?: string | undefined
  readonly usageMode?: FolderUsageMode | undefined
  readonly permission?: FolderPermission | undefined
  readonly status?: FolderStatus | undefined
  readonly maxBytes?: number | null | undefined
  readonly maxFiles?: number | null | undefined
}

/** Fails with SQLSTATE 23505 if the owner has another folder of that name. */
export async function updateFolder(db: Db, id: FolderId, change: FolderUpdate): Promise<void> {
  const { name, usageMode, permission, status, maxBytes, maxFiles } = change
  await db
    .updateTable('folders')
    .set({
      ...defined({ name, usage_mode: usageMode, permission, max_bytes: maxBytes, max_files: maxFiles }),
      ...(status === undefined
        ? {}
        : { status, trashed_at: status === 'ready' ? null : sql<Date>`coalesce(trashed_at, now())` }),
      version: sql`version + 1`,
    })
    .where('id', '=', id)
    .execute()
}

/**
 * Sessions that use the folder: those that mount it and have been placed. Waiting sessions do not count (docs/adr/0060). @returns their
 * number, and the names of at most three of those in `visible`
 */
export async function readUsers(
  db: Db,
  id: FolderId,
  visible: SessionFilter['visible'],
): Promise<{ count: number; names: string[] }> {
  const rows = await db
    .selectFrom('session_folders')
    .innerJoin('sessions', 'sessions.id', 'session_folders.session_id')
    .select(['sessions.id', 'sessions.name'])
    .select(eb => sql<boolean>`${seenBy(eb, visible)}`.as('seen'))
    .distinct()
    .where('session_folders.folder_id', '=', id)
    .where('sessions.status', 'in', OCCUPYING_STATUSES)
    .orderBy('sessions.id')
    .execute()
  const names = rows.filter(({ seen }) => seen).map(({ name }) => name)
  return { count: rows.length, names: names.slice(0, 3) }
}

/** Prevents the folders that these sessions mount from being moved to the trash until the transaction ends. */
export async function holdFoldersOf(trx: Db, sessionIds: readonly SessionId[]): Promise<void> {
  await trx
    .selectFrom('folders')
    .select('id')
    .where('id', 'in', eb =>
      eb
        .selectFrom('session_folders')
        .select(sql<FolderId>`folder_id`.as('id'))
        .where('session_id', 'in', sessionIds),
    )
    .orderBy('id')
    .forShare()
    .execute()
}

/**
 * A session that mounts the folder and belongs to somebody else, or in which somebody else or an access token worked or chose the command;
 * undefined for none.
 * A removed member keeps the mounts of running sessions (docs/adr/0031). Waiting sessions of members do not count: a folder with a leading
 * dot has no members.
 *
 * @returns the session's name; null if it belongs to somebody else, because the folder's owner may not see it
 */
export async function findUsedByOthers(db: Db, id: FolderId): Promise<{ name: string | null } | undefined> {
  const isOthers = sql<boolean>`sessions.owner_id is distinct from folders.user_id`
  return db
    .selectFrom('session_folders')
    .innerJoin('sessions', 'sessions.id', 'session_folders.session_id')
    .innerJoin('folders', 'folders.id', 'session_folders.folder_id')
    .select(sql<string | null>`case when ${isOthers} then null else sessions.name end`.as('name'))
    .where('session_folders.folder_id', '=', id)
    .where('sessions.status', 'in', LIVE_STATUSES)
    .where(sql<boolean>`(not ${isOthers} or sessions.status <> 'PENDING')`)
    .where(sql<boolean>`(${isOthers} or sessions.launched_by is not null or sessions.token_id is not null
        or sessions.used_by_others_at is not null)`)
    .orderBy('sessions.id')
    .executeTakeFirst()
}

export async function listDeleting(db: Db): Promise<Pick<FolderRow, 'id' | 'storage_host'>[]> {
  return db.selectFrom('folders').select(['id', 'storage_host']).where('status', '=', 'deleting').execute()
}

export async function deleteFolderRow(db: Db, id: FolderId): Promise<void> {
  await db.deleteFrom('folders').where('id', '=', id).where('status', '=', 'deleting').execute()
}

export interface FolderCounts {
  /** Folders, including those in the trash. */
  readonly kept: number
  /** Deleted folders whose files are still being removed. */
  readonly deleting: number
}

/** Folders of one project, or of all projects of a domain. */
export async function countFoldersOf(
  db: Db,
  of: { readonly groupId: GroupId } | { readonly domain: string },
): Promise<FolderCounts> {
  return db
    .selectFrom('folders')
    .innerJoin('groups', 'groups.id', 'folders.group_id')
    .select(sql<number>`count(*) filter (where folders.status <> 'deleting')`.as('kept'))
    .select(sql<number>`count(*) filter (where folders.status = 'deleting')`.as('deleting'))
    .where(eb => ('groupId' in of ? eb('groups.id', '=', of.groupId) : eb('groups.domain', '=', of.domain)))
    .executeTakeFirstOrThrow()
}

/** Locks the account of a user until the transaction ends. @returns number of folders, including those in the trash */
export async function lockFolderCount(trx: Db, userId: UserId): Promise<number> {
  await trx.selectFrom('users').select('id').where('id', '=', userId).forNoKeyUpdate().execute()
  return countFolders(trx, userId)
}

/** Number of folders that the user owns, including those in the trash. */
export async function countFolders(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('folders')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('status', '!=', 'deleting')
    .executeTakeFirstOrThrow()
  return count
}

/** Members of the project that owns a folder, at most so many, in any order. */
export async function listProjectMembers(db: Db, id: FolderId, limit: number): Promise<UserId[]> {
  const rows = await db
    .selectFrom('folders')
    .innerJoin('group_members', 'group_members.group_id', 'folders.group_id')
    .select('group_members.user_id')
    .where('folders.id', '=', id)
    .limit(limit)
    .execute()
  return rows.map(({ user_id }) => user_id)
}
