import {
  AppError,
  because,
  type FolderId,
  type FolderMountSpec,
  type FolderPermission,
  isAutomount,
  MOST_FOLDERS,
  mountPath,
  type SessionSpec,
} from '#manager/contract'
import { type FolderRow, listFolders } from '../store/storage/folders.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { allows, permissionOf } from './access.ts'

/** A folder of a request, resolved. */
export interface Mount {
  readonly folderId: FolderId
  readonly name: string
  /** Relative to the home of the session. */
  readonly path: string
  readonly readOnly: boolean
  /** The request did not name the folder: its leading dot mounts it in each session of its owner. */
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
  const mounts: Mount[] = []
  for (const spec of specs) {
    const folder = findByName(folders, caller, spec.folder)
    const permission = folder && permissionOf(caller, folder)
    if (!folder || permission === undefined) throw await noSuchFolder(db, caller, spec.folder)
    mounts.push(toMount(folder, permission, spec))
  }
  if (automount) mounts.push(...automaticMounts(folders, caller, new Set(mounts.map(({ folderId }) => folderId))))
  refuseOverlap(mounts)
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
  // The folder is older than the reservation of its name.
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
 * The own folder of this id or name, in any letter case; else that of a project or of another user, if there is only one.
 * `PROJECT/NAME` and `OWNER/NAME` name one of several.
 */
function findByName(folders: readonly FolderRow[], { userId }: Caller, wanted: string): FolderRow | undefined {
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
const placeOf = ({ group_name, owner_email }: FolderRow): string => group_name ?? owner_email ?? ''

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

function named(folders: readonly FolderRow[], wanted: string): FolderRow[] {
  const text = wanted.toLowerCase()
  return folders.filter(folder => {
    const name = folder.name.toLowerCase()
    return folder.id === text || name === text || `${placeOf(folder).toLowerCase()}/${name}` === text
  })
}

/** The error for a folder that is not there; it says so if the folder is in the trash. */
async function noSuchFolder(db: Db, caller: Caller, wanted: string): Promise<AppError> {
  const [trashed] = named(await listFolders(db, { status: 'trashed', member: caller.userId }), wanted)
  const why = trashed
    ? because('folder_trashed_mount', { name: trashed.name })
    : because('folder_unknown', { name: wanted })
  return new AppError('folder_not_found', { name: trashed?.name ?? wanted, ...why })
}
