import { allDone } from '#base/all-done'
import { isLikeId } from '#base/shapes'
import {
  AppError,
  because,
  type FolderId,
  type FolderMountSpec,
  type FolderPermission,
  type FolderStatus,
  isAutomount,
  MOST_FOLDERS,
  mountPath,
  type SessionSpec,
  type UserId,
} from '#manager/contract'
import { type FolderRow, listFolders } from '../store/storage/folders.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { allows, permissionOf } from './access.ts'

/** A resolved folder of a request. */
export interface Mount {
  readonly folderId: FolderId
  readonly name: string
  /** Relative to the home of the session. */
  readonly path: string
  readonly readOnly: boolean
  /** True if the request did not name the folder: its leading dot mounts it in each session of its owner. */
  readonly automatic: boolean
}

/**
 * Resolves the folders of a request, and adds the caller's folders that are mounted automatically. A folder that the caller may
 * not use is refused exactly like one that does not exist.
 *
 * @throws AppError `folder_not_found`, `folder_incomplete`, `group_inactive`, `bad_request` (two folders at one path, or one inside the other)
 */
export async function resolveMounts(
  db: Db,
  caller: Caller,
  { folders: specs = [], automount = true }: Pick<SessionSpec, 'folders' | 'automount'>,
): Promise<Mount[]> {
  if (specs.length === 0 && !automount) return []
  const folders = await listFolders(db, { status: 'ready', member: caller.userId })
  const mounts = await resolveAmong(usableBy(caller, folders), specs, {
    userId: caller.userId,
    trashed: () => listFolders(db, { status: 'trashed', member: caller.userId }),
  })
  if (automount) mounts.push(...automaticMounts(folders, caller, new Set(mounts.map(({ folderId }) => folderId))))
  refuseOverlap(mounts)
  return mounts
}

/**
 * Resolves the folders of a request that one person makes for another: among the folders that both may mount, with the rights that both
 * have. Every other folder is treated as absent, so neither its name nor its id changes an answer.
 *
 * @throws AppError as `resolveMounts`
 */
export async function resolveMountsOfBoth(
  db: Db,
  { caller, owner }: { caller: Caller; owner: Caller },
  specs: readonly FolderMountSpec[],
): Promise<Mount[]> {
  if (specs.length === 0) return []
  const common = async (status: FolderStatus) => {
    const [owners, callers] = await allDone(
      [owner, caller].map(async person => usableBy(person, await listFolders(db, { status, member: person.userId }))),
    )
    return mountableByBoth(owners ?? [], callers ?? [])
  }
  const trashed = async () => (await common('trashed')).map(({ row }) => row)
  const mounts = await resolveAmong(await common('ready'), specs, { userId: owner.userId, trashed })
  refuseOverlap(mounts)
  return mounts
}

/** A folder, and the user's permission for its files. */
export interface UsableFolder {
  readonly row: FolderRow
  readonly permission: FolderPermission
}

function usableBy(caller: Caller, rows: readonly FolderRow[]): UsableFolder[] {
  return rows.flatMap(row => {
    const permission = permissionOf(caller, row)
    return permission === undefined ? [] : [{ row, permission }]
  })
}

/** The folders of both lists, compared by id alone, each with the lesser permission. Pure. */
export function mountableByBoth<T extends { row: Pick<FolderRow, 'id'>; permission: FolderPermission }>(
  owners: readonly T[],
  callers: readonly T[],
): T[] {
  const others = new Map(callers.map(({ row, permission }) => [row.id, permission]))
  return owners.flatMap(folder => {
    const other = others.get(folder.row.id)
    if (other === undefined) return []
    return [allows(other, folder.permission) ? folder : { ...folder, permission: other }]
  })
}

interface Resolving {
  /** The user whose own folders come first. */
  readonly userId: UserId
  /** Folders in the trash; read only for the text of a refusal. */
  readonly trashed: () => Promise<readonly FolderRow[]>
}

async function resolveAmong(
  folders: readonly UsableFolder[],
  specs: readonly FolderMountSpec[],
  { userId, trashed }: Resolving,
): Promise<Mount[]> {
  const rows = folders.map(({ row }) => row)
  const permissions = new Map(folders.map(({ row, permission }) => [row.id, permission]))
  const mounts: Mount[] = []
  for (const spec of specs) {
    const row = findByName(rows, userId, spec.folder)
    const permission = row && permissions.get(row.id)
    if (!row || permission === undefined) throw noSuchFolder(await trashed(), spec.folder)
    mounts.push(toMount(row, permission, spec))
  }
  return mounts
}

/**
 * The caller's own folders whose names begin with a dot.
 *
 * @param asked folders of the request, which override the path and mode of automatic mounts
 * @throws AppError `bad_request` for more than `MOST_FOLDERS`
 */
export function automaticMounts(
  folders: readonly Pick<FolderRow, 'id' | 'name' | 'user_id' | 'is_cloning'>[],
  { userId }: Pick<Caller, 'userId'>,
  asked: ReadonlySet<FolderId>,
): Mount[] {
  const own = folders.filter(
    ({ id, name, user_id, is_cloning }) => user_id === userId && isAutomount(name) && !asked.has(id) && !is_cloning,
  )
  // The folder is older than the rule that reserves its name.
  const mounts = own.flatMap(({ id: folderId, name }) => {
    const path = mountPath(name)
    return path === undefined ? [] : [{ folderId, name, path, readOnly: false, automatic: true }]
  })
  if (mounts.length <= MOST_FOLDERS) return mounts
  throw new AppError('bad_request', because('dot_folders_at_most', { count: mounts.length, limit: MOST_FOLDERS }))
}

function toMount(folder: FolderRow, permission: FolderPermission, spec: FolderMountSpec): Mount {
  const { id: folderId, name, group_active, group_name } = folder
  if (group_active === false) {
    throw new AppError('group_inactive', {
      name: group_name ?? '',
      ...because('folder_project_deactivated_mount', { name }),
    })
  }
  if (folder.is_cloning) {
    throw new AppError('folder_incomplete', { name, ...because('folder_filling_mount', { name }) })
  }
  const path = mountPath(spec.path ?? name) ?? name
  return { folderId, name, path, readOnly: spec.readOnly === true || !allows(permission, 'rw'), automatic: false }
}

/**
 * Finds the caller's own folder of this id or name, in any letter case; else one of a project or of another user, if there is only one.
 * `PROJECT/NAME` and `OWNER/NAME` select one of several.
 */
function findByName(folders: readonly FolderRow[], userId: UserId, wanted: string): FolderRow | undefined {
  const found = named(folders, wanted)
  const own = found.find(folder => folder.id === wanted.toLowerCase() || folder.user_id === userId)
  if (own || found.length < 2) return own ?? found[0]
  const choices = found.map(folder => `"${placeOf(folder)}/${folder.name}"`).join(', ')
  throw new AppError('folder_not_found', {
    name: wanted,
    ...because('folder_ambiguous', { name: wanted, choices }),
  })
}

/** Project of a folder, or address of its owner. */
const placeOf = ({ group_name, owner_email }: Pick<FolderRow, 'group_name' | 'owner_email'>): string =>
  group_name ?? owner_email ?? ''

/** @throws AppError `bad_request` */
export function refuseOverlap(mounts: readonly Pick<Mount, 'name' | 'path' | 'automatic'>[]): void {
  const sorted = mounts.toSorted((a, b) => (`${a.path}/` < `${b.path}/` ? -1 : 1))
  for (const [index, mount] of sorted.entries()) {
    const before = sorted[index - 1]
    if (!before || !`${mount.path}/`.startsWith(`${before.path}/`)) continue
    const itself = [before, mount].find(one => one.automatic)
    if (itself) {
      const other = itself === mount ? before : mount
      const values = { folder: itself.name, at: itself.path, name: other.name, path: other.path }
      throw new AppError('bad_request', because('mount_over_automatic', values))
    }
    const why =
      mount.path === before.path
        ? because('mount_same', { path: mount.path })
        : because('mount_inside', { path: mount.path, outer: before.path })
    throw new AppError('bad_request', why)
  }
}

/** A text with the form of an id is an id, never a name: a folder whose name equals the id of another one must not be taken for it. */
export function named<T extends Pick<FolderRow, 'id' | 'name' | 'group_name' | 'owner_email'>>(
  folders: readonly T[],
  wanted: string,
): T[] {
  const text = wanted.toLowerCase()
  if (isLikeId(text)) return folders.filter(({ id }) => id === text)
  return folders.filter(folder => {
    const name = folder.name.toLowerCase()
    return name === text || `${placeOf(folder).toLowerCase()}/${name}` === text
  })
}

/** The error for a missing folder; it says so if the folder is in the trash. */
function noSuchFolder(trash: readonly FolderRow[], wanted: string): AppError {
  const [trashed] = named(trash, wanted)
  const why = trashed
    ? because('folder_trashed_mount', { name: trashed.name })
    : because('folder_unknown', { name: wanted })
  return new AppError('folder_not_found', { name: trashed?.name ?? wanted, ...why })
}
