import { type AuditEntry, FolderId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { listFolderOwners } from '../store/storage/folders.ts'
import { type Caller, isSuperadmin } from '../users/authorize.ts'

/** Details that name files. */
const NAMING = ['path', 'to', 'name']
const FOLDER = 'folder:'

/**
 * Entries as somebody may see them: names of files in a folder of a person are for that person, whoever named them, and superadmins.
 *
 * Threat: an admin of a domain reads nobody's files, and a name says enough (`application-for-another-job`). Folders of projects are
 * the domain's. Nobody knows whose a folder was that is deleted, so its files count as a person's.
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

/** The folder of an entry, and the one that its files came from. */
function foldersOf({ target, detail }: AuditEntry): FolderId[] {
  const ids = [target?.slice(FOLDER.length), 'from' in detail ? detail.from : undefined]
  return ids.flatMap(id => FolderId.safeParse(id).data ?? [])
}

const withoutNames = (detail: AuditEntry['detail']) =>
  Object.fromEntries(Object.entries(detail).filter(([key]) => !NAMING.includes(key)))
