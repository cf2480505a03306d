import { type AuditEntry, FolderId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { listFolderOwners } from '../store/storage/folders.ts'
import { type Caller, isSuperadmin } from '../users/authorize.ts'

/** Keys of `detail` whose values are file names. */
const NAMING = ['path', 'to', 'name']
const FOLDER = 'folder:'

/**
 * Removes names of files that the caller must not see: in personal folders, only the owner of the folder, the actor of the entry and
 * superadmins see them.
 *
 * Threat: an admin of a domain must not read users' files, and even a name can be private (`application-for-another-job`). Folders of
 * projects belong to the domain. The owner of a deleted folder is unknown, so it counts as a personal one.
 */
export async function withoutPrivatePaths(
  db: Db,
  caller: Pick<Caller, 'userId' | 'role'>,
  entries: readonly AuditEntry[],
): Promise<AuditEntry[]> {
  if (isSuperadmin(caller)) return [...entries]
  const naming = entries.filter(entry => entry.actorId !== caller.userId && namesFiles(entry))
  const owners = await listFolderOwners(db, [...new Set(naming.flatMap(foldersOf))])
  const mayRead = (id: FolderId) => {
    const owner = owners.get(id)
    return owner !== undefined && (owner.group_id !== null || owner.user_id === caller.userId)
  }
  const hidden = new Set(naming.filter(entry => !foldersOf(entry).every(mayRead)))
  return entries.map(entry => (hidden.has(entry) ? { ...entry, detail: withoutNames(entry.detail) } : entry))
}

const namesFiles = ({ target, detail }: AuditEntry) =>
  target?.startsWith(FOLDER) === true && NAMING.some(key => key in detail)

/** The folder of an entry, and the folder from which its files came. */
function foldersOf({ target, detail }: AuditEntry): FolderId[] {
  const ids = [target?.slice(FOLDER.length), 'from' in detail ? detail.from : undefined]
  return ids.flatMap(id => FolderId.safeParse(id).data ?? [])
}

const withoutNames = (detail: AuditEntry['detail']) =>
  Object.fromEntries(Object.entries(detail).filter(([key]) => !NAMING.includes(key)))
