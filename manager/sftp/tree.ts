import { AppError, because, type FolderId, type FolderPermission } from '#manager/contract'
import { type FolderOpener } from '../files/open-folder.ts'
import { permissionOf } from '../folders/access.ts'
import { type Db } from '../store/schema.ts'
import { type FolderRow, listFolders } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { type FolderNames, nameFolders } from './folder-names.ts'
import { createLeases, type Held, type Leases } from './leases.ts'

/** Time for which the list of folders is cached. */
const LIST_MS = 2_000

/** The folders of one user as directories. */
export interface Tree extends Pick<Leases, 'require'>, AsyncDisposable {
  /** Usable folders by their listed names. */
  list(): Promise<ReadonlyMap<string, FolderRow>>
  /** Opens the folder of a name. @throws AppError `folder_not_found`, `forbidden`, `group_inactive`, `storage_away` */
  hold(name: string, need: FolderPermission): Promise<HeldFolder>
  permissionOf(row: FolderRow): FolderPermission
}

export interface HeldFolder extends Held {
  readonly id: FolderId
  readonly permission: FolderPermission
}

export function createTree({ db, open, caller }: { db: Db; open: FolderOpener; caller: Caller }): Tree {
  const leases = createLeases(open, caller)
  let known: { readonly names: Promise<FolderNames<FolderRow>>; readonly until: number } | undefined

  async function readNames(): Promise<FolderNames<FolderRow>> {
    const rows = await listFolders(db, { status: 'ready', member: caller.userId })
    const usable = rows.filter(row => row.group_active !== false && permissionOf(caller, row) !== undefined)
    return nameFolders(usable, caller.userId)
  }

  function names(): Promise<FolderNames<FolderRow>> {
    if (known && known.until > performance.now()) return known.names
    const reading = readNames()
    known = { names: reading, until: performance.now() + LIST_MS }
    reading.catch(() => (known = undefined))
    return reading
  }

  const permission = (row: FolderRow) => permissionOf(caller, row) ?? 'ro'

  return {
    list: async () => (await names()).listed,
    async hold(name, need) {
      const row = (await names()).find(name)
      if (!row) throw new AppError('folder_not_found', { name, ...because('folder_unknown', { name }) })
      const held = await leases.hold(row.id, need)
      return { ...held, id: row.id, permission: permission(held.folder.row) }
    },
    require: (id, need) => leases.require(id, need),
    permissionOf: permission,
    [Symbol.asyncDispose]: () => leases[Symbol.asyncDispose](),
  }
}
