import { type RawBuilder, sql } from 'kysely'
import { type FolderId, type FolderPermission, type FolderStatus, type SessionId, type UserId } from '#manager/contract'
import { tokenHolds } from '../identity/access-tokens.ts'
import { accountHolds } from '../identity/users.ts'
import { type Db } from '../schema.ts'
import { invitedPermission, isMember } from '../storage/folders.ts'

/** Sessions whose rights are read: all waiting ones of a resource group, or these. */
export type AskedSessions = { readonly resourceGroup: string } | { readonly ids: readonly SessionId[] }

export const isAsked = (of: AskedSessions): RawBuilder<boolean> =>
  'ids' in of
    ? sql`sessions.id = any(${of.ids}::uuid[])`
    : sql`sessions.resource_group = ${of.resourceGroup} and sessions.status = 'PENDING'`

/** A session whose owner is not in its domain or project any more. */
export interface Outsider {
  readonly id: SessionId
  /** Whether the owner is in another domain. */
  readonly moved: boolean
}

export async function listOutsiders(db: Db, of: AskedSessions): Promise<Outsider[]> {
  const moved = sql<boolean>`users.domain <> sessions.domain`
  const left = sql<boolean>`sessions.group_id is not null and not exists (
    select from group_members m where m.group_id = sessions.group_id and m.user_id = sessions.owner_id)`
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.owner_id')
    .select(['sessions.id', moved.as('moved')])
    .where(isAsked(of))
    .where(eb => eb.or([moved, left]))
    .execute()
}

/** A session launched by an administrator who does not manage the account of its owner any more. */
export interface Deserted {
  readonly id: SessionId
  readonly launchedBy: string
}

export async function listDeserted(db: Db, of: AskedSessions): Promise<Deserted[]> {
  const { rows } = await sql<Deserted>`
    select sessions.id, sessions.launched_by as "launchedBy" from sessions
    where ${isAsked(of)} and sessions.launched_by is not null and not exists (
      select from users launchers
      where launchers.email = sessions.launched_by and ${mayStillLaunch(sql`sessions.owner_id`)})`.execute(db)
  return rows
}

/** A folder that does not belong to its session's owner, with all data for deciding whether the owner may mount it. */
export interface ForeignFolder {
  readonly folderId: FolderId
  readonly ownerId: UserId
  readonly status: FolderStatus
  /** Owner of the folder; null for the folder of a project. */
  readonly user_id: UserId | null
  readonly permission: FolderPermission
  readonly group_active: boolean | null
  readonly is_member: boolean
  readonly invited_permission: FolderPermission | null
  /** Address of the administrator who launched the session for its owner. */
  readonly launchedBy: string | null
  /** Also null if that account does not exist or does not manage the owner's any more. */
  readonly launcher_id: UserId | null
  readonly launcher_is_member: boolean
  readonly launcher_invited_permission: FolderPermission | null
}

/** Whether the launcher has an active account and manages the account of the owner now, by the rule of `managesAccount`. */
const mayStillLaunch = (ownerId: RawBuilder<UserId>) => sql<boolean>`(${accountHolds('launchers')}
  and (launchers.role = 'superadmin' or (launchers.role = 'domain_admin' and exists (
    select from users o where o.id = ${ownerId} and o.domain = launchers.domain and o.role <> 'superadmin'))))`

/**
 * Folders that the sessions mount, once for each owner. Own folders are included only if they are in the trash: nobody else can withdraw
 * them.
 */
export async function listForeignFolders(db: Db, of: AskedSessions): Promise<ForeignFolder[]> {
  const mounted = db
    .selectFrom('session_folders')
    .innerJoin('sessions', 'sessions.id', 'session_folders.session_id')
    .select(['session_folders.folder_id', 'sessions.owner_id', 'sessions.launched_by'])
    .distinct()
    .where(isAsked(of))
  const owner = sql<UserId>`mounted.owner_id`
  const launcher = sql<UserId>`launchers.id`
  return db
    .selectFrom(mounted.as('mounted'))
    .innerJoin('folders', 'folders.id', 'mounted.folder_id')
    .leftJoin('groups', 'groups.id', 'folders.group_id')
    .leftJoin('users as owners', 'owners.id', 'folders.user_id')
    .leftJoin('users as launchers', join =>
      join.onRef('launchers.email', '=', 'mounted.launched_by').on(mayStillLaunch(owner)),
    )
    .select(['mounted.owner_id as ownerId', 'mounted.launched_by as launchedBy'])
    .select(['folders.id as folderId', 'folders.status', 'folders.user_id', 'folders.permission'])
    .select(['groups.active as group_active', 'launchers.id as launcher_id'])
    .select([isMember(owner).as('is_member'), invitedPermission(owner).as('invited_permission')])
    .select([isMember(launcher).as('launcher_is_member')])
    .select(invitedPermission(launcher).as('launcher_invited_permission'))
    .where(
      sql<boolean>`(folders.user_id is distinct from mounted.owner_id or mounted.launched_by is not null
        or folders.status <> 'ready')`,
    )
    .execute()
}

/** A mount of a waiting session. */
export interface MountOfSession extends Pick<ForeignFolder, 'folderId' | 'ownerId' | 'launchedBy'> {
  readonly sessionId: SessionId
  /** Name of the folder at the time of the request. */
  readonly name: string
  readonly readOnly: boolean
}

export async function listMountsOf(db: Db, of: AskedSessions, folders: readonly FolderId[]): Promise<MountOfSession[]> {
  if (folders.length === 0) return []
  return db
    .selectFrom('session_folders')
    .innerJoin('sessions', 'sessions.id', 'session_folders.session_id')
    .select(['sessions.id as sessionId', 'sessions.owner_id as ownerId', 'sessions.launched_by as launchedBy'])
    .select(['session_folders.name', 'session_folders.read_only as readOnly'])
    .select(sql<FolderId>`session_folders.folder_id`.as('folderId'))
    .where(isAsked(of))
    .where('session_folders.folder_id', 'in', folders)
    .orderBy('session_folders.path')
    .execute()
}

/** A session with a permanently deleted folder. */
export interface Bereft {
  readonly id: SessionId
  /** Name of the folder at the time of the request. */
  readonly name: string
}

export async function listBereft(db: Db, of: AskedSessions): Promise<Bereft[]> {
  return db
    .selectFrom('session_folders')
    .innerJoin('sessions', 'sessions.id', 'session_folders.session_id')
    .leftJoin('folders', 'folders.id', 'session_folders.folder_id')
    .select(['sessions.id', 'session_folders.name'])
    .where(isAsked(of))
    .where(eb => eb.or([eb('folders.id', 'is', null), eb('folders.status', '=', 'deleting')]))
    .execute()
}

/** Sessions launched by an access token that has ended or expired since. */
export async function listTokenless(db: Db, of: AskedSessions): Promise<SessionId[]> {
  const rows = await db
    .selectFrom('sessions')
    .select('sessions.id')
    .where(isAsked(of))
    .where('sessions.token_id', 'is not', null)
    .where(sql<boolean>`not ${tokenHolds(sql.ref('sessions.token_id'))}`)
    .execute()
  return rows.map(({ id }) => id)
}

/** An image for which sessions of a domain wait. */
export interface WantedImage {
  readonly reference: string
  readonly digest: string | null
  readonly domain: string
}

export async function listWantedImages(db: Db, of: AskedSessions): Promise<WantedImage[]> {
  return db
    .selectFrom('sessions')
    .select(['image as reference', 'image_digest as digest', 'domain'])
    .distinct()
    .where(isAsked(of))
    .execute()
}

/** The sessions that wait for one of these images, without those of superadmins, who may launch every image. */
export async function listSessionsWanting(
  db: Db,
  of: AskedSessions,
  images: readonly WantedImage[],
): Promise<(WantedImage & { id: SessionId })[]> {
  if (images.length === 0) return []
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.owner_id')
    .select(['sessions.id', 'sessions.image as reference', 'sessions.image_digest as digest', 'sessions.domain'])
    .where(isAsked(of))
    .where('users.role', '<>', 'superadmin')
    .where(eb =>
      eb.or(
        images.map(({ reference, digest, domain }) =>
          eb.and([
            eb('sessions.image', '=', reference),
            eb('sessions.image_digest', 'is not distinct from', digest),
            eb('sessions.domain', '=', domain),
          ]),
        ),
      ),
    )
    .execute()
}

/** Makes mounts of these sessions read-only. */
export async function lowerMounts(trx: Db, mounts: readonly MountOfSession[]): Promise<void> {
  if (mounts.length === 0) return
  const [sessions, folders] = [mounts.map(({ sessionId }) => sessionId), mounts.map(({ folderId }) => folderId)]
  await sql`update session_folders f set read_only = true
    from (select unnest(${sessions}::uuid[]) as session_id, unnest(${folders}::uuid[]) as folder_id) v
    where f.session_id = v.session_id and f.folder_id = v.folder_id`.execute(trx)
}
