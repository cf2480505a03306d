import { AppError, type FolderId, type FolderMountSpec, mountPath } from '#manager/contract'
import { listMemberships } from '../store/identity/groups.ts'
import { type FolderRow, listFolders } from '../store/storage/folders.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { permissionOf } from './access.ts'

/** A folder of a request, resolved. */
export interface Mount {
  readonly folderId: FolderId
  readonly name: string
  /** Relative to the home of the session. */
  readonly path: string
  readonly readOnly: boolean
}

/**
 * Resolves the folders of a request. A folder that the caller may not use is refused exactly like one that does not exist.
 *
 * @throws AppError `folder_not_found`, `bad_request` (two folders at one path, or one inside the other)
 */
export async function resolveMounts(db: Db, caller: Caller, specs: readonly FolderMountSpec[]): Promise<Mount[]> {
  if (specs.length === 0) return []
  const [folders, groups] = await Promise.all([
    listFolders(db, { status: 'ready', member: caller.userId }),
    listMemberships(db, caller.userId),
  ])
  const memberOf = new Set(groups.map(({ id }) => id))
  const mounts = specs.map((spec): Mount => {
    const folder = findByName(folders, spec.folder)
    const isMember = folder.group_id !== null && memberOf.has(folder.group_id)
    const permission = permissionOf(caller, folder, isMember)
    if (permission === undefined) throw unknown(spec.folder)
    const path = mountPath(spec.path ?? folder.name) ?? folder.name
    return { folderId: folder.id, name: folder.name, path, readOnly: spec.readOnly === true || permission === 'ro' }
  })
  refuseOverlap(mounts)
  return mounts
}

/** The own folder of this id or name, in any letter case; else that of a project, if there is only one. */
function findByName(folders: readonly FolderRow[], wanted: string): FolderRow {
  const text = wanted.toLowerCase()
  const found = folders.filter(({ id, name }) => id === text || name.toLowerCase() === text)
  const [own] = found.filter(folder => folder.id === text || folder.user_id !== null)
  if (own) return own
  const [first, ...others] = found
  if (!first) throw unknown(wanted)
  if (others.length === 0) return first
  const projects = found.map(({ group_name }) => `"${group_name ?? ''}"`).join(' and ')
  throw new AppError('folder_not_found', {
    name: wanted,
    why: `The projects ${projects} each have a folder "${wanted}": name it by its id.`,
  })
}

function refuseOverlap(mounts: readonly Mount[]): void {
  const sorted = mounts.toSorted((a, b) => (`${a.path}/` < `${b.path}/` ? -1 : 1))
  for (const [index, mount] of sorted.entries()) {
    const before = sorted[index - 1]
    if (!before || !`${mount.path}/`.startsWith(`${before.path}/`)) continue
    const why =
      mount.path === before.path
        ? `Two folders are to be mounted at "${mount.path}". Give one of them another path.`
        : `"${mount.path}" lies inside "${before.path}", where another folder is to be mounted. Give it another path.`
    throw new AppError('bad_request', { why })
  }
}

function unknown(wanted: string): AppError {
  return new AppError('folder_not_found', { name: wanted, why: `You have no folder "${wanted}".` })
}
