import { defined } from '#base/defined'
import { isLikeId } from '#base/shapes'
import {
  AppError,
  because,
  type Because,
  type Folder,
  type FolderChange,
  type FolderCount,
  FolderId,
  type FolderSpec,
  type GroupId,
  isAppError,
  isAutomount,
  type StorageHost,
} from '#manager/contract'
import { requireGroupOfAdmin } from '../quotas/group-of.ts'
import { listPoliciesOf } from '../store/quotas/resource-policies.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { insertFolderClone } from '../store/storage/folder-clones.ts'
import {
  type FolderRow,
  insertFolder,
  listFolders,
  lockFolder,
  findUsedByOthers,
  readUsers,
  updateFolder,
} from '../store/storage/folders.ts'
import { isForeignKeyViolation, isUniqueViolation } from '../store/violations.ts'
import { type Caller, isSuperadmin, visibleTo } from '../users/authorize.ts'
import { holdSignedIn, requireStillSignedIn } from '../users/still-authorized.ts'
import { requireManaged, requireVisible, toFolder } from './find-folder.ts'
import { refuseDotFolder } from './require-folder.ts'
import { type FolderHints } from './hints.ts'
import { countOf, mayUseHost, requireFewFolders } from './limits.ts'
import { type Removals } from './removals.ts'
import { type FolderQuotas } from './folder-quotas.ts'
import { type FolderUsages } from './usage.ts'

/** The operations users have on folders, with their rules. To a user who may not see it, a folder does not exist. */
export interface Folders {
  /** The storage hosts that the caller's resource policies allow, and the number of folders. */
  hosts(caller: Caller): Promise<{ items: StorageHost[]; folders: FolderCount }>
  /** The caller's own folders, then those that others share, then those of projects that the caller is in or administers. */
  list(caller: Caller, query: { trashed?: boolean | undefined }): Promise<Folder[]>
  /**
   * @throws AppError `folder_exists`, `over_folder_limit`, `storage_host_not_found`, `storage_away`, `group_not_found`, `group_inactive`,
   *   `forbidden` (folder of a project), `bad_request` (permission for a folder of one's own), `not_signed_in` (ended meanwhile)
   */
  create(caller: Caller, spec: FolderSpec, options?: CreateOptions): Promise<Folder>
  /** @throws AppError `folder_not_found`, `folder_exists`, `folder_shared`, `forbidden`, `bad_request`, `not_signed_in` (ended meanwhile) */
  update(caller: Caller, id: FolderId, change: FolderChange): Promise<Folder>
  /** @throws AppError `folder_not_found`, `folder_in_use`, `forbidden` */
  trash(caller: Caller, id: FolderId): Promise<Folder>
  /** @throws AppError `folder_not_found`, `folder_exists`, `forbidden`, `not_signed_in` (ended meanwhile) */
  restore(caller: Caller, id: FolderId): Promise<Folder>
  /** Removes the files in the background. @throws AppError `folder_not_found`, `folder_not_trashed`, `folder_in_use`, `forbidden` */
  remove(caller: Caller, id: FolderId): Promise<void>
}

export interface CreateOptions {
  /** Marks the new folder as one that is being filled by a copy; the copy removes the mark. */
  readonly isClone?: boolean
}

export interface FoldersDeps {
  readonly store: Store
  readonly storage: StorageHosts
  readonly removals: Pick<Removals, 'start'>
  readonly hints: FolderHints
  readonly usages: Pick<FolderUsages, 'check'>
  readonly quotas: Pick<FolderQuotas, 'enforce'>
}

export function createFolders({ store, storage, removals, hints, usages, quotas }: FoldersDeps): Folders {
  async function view(caller: Caller, id: FolderId): Promise<Folder> {
    return (await requireVisible(store.db, caller, id)).view
  }

  /** @returns the storage host of the request, or the first that the caller may use @throws AppError `storage_host_not_found` */
  async function hostFor(caller: Caller, { storageHost }: FolderSpec): Promise<string> {
    const names = await hostNamesOf(caller)
    const name = storageHost === undefined ? names[0] : names.find(one => one === storageHost)
    if (name !== undefined) return name
    const why =
      names.length === 0
        ? because('no_storage_for_you')
        : because('storage_not_for_you', {
            storage: storageHost ?? '',
            yours: names.map(one => `"${one}"`).join(', '),
          })
    throw new AppError('storage_host_not_found', {
      ...defined({ name: storageHost }),
      ...why,
    })
  }

  async function hostNamesOf(caller: Caller): Promise<string[]> {
    const policies = await listPoliciesOf(store.db, caller)
    return storage.names.filter(name => mayUseHost(policies, name))
  }

  /** @returns the project that will own the folder; null for the caller */
  async function groupFor(caller: Caller, { name, group, permission }: FolderSpec): Promise<GroupId | null> {
    if (group === undefined) {
      if (permission === undefined) return null
      throw new AppError('bad_request', because('folder_permission_needs_project'))
    }
    const { id } = await requireGroupOfAdmin(store.db, caller, group)
    requireNoDot(name)
    return id
  }

  return {
    async hosts(caller) {
      const policies = await listPoliciesOf(store.db, caller)
      const [hosts, folders] = await Promise.all([storage.list(), countOf(store.db, caller, policies)])
      return { items: hosts.filter(({ name }) => mayUseHost(policies, name)), folders }
    },

    async list(caller, { trashed = false }) {
      const status = trashed ? 'trashed' : 'ready'
      const over = isSuperadmin(caller) ? true : caller.role === 'domain_admin' ? caller.domain : undefined
      const rows = await listFolders(store.db, { status, member: caller.userId, administers: over })
      usages.check(rows)
      return rows.flatMap(row => toFolder(caller, row) ?? [])
    },

    async create(caller, spec, { isClone = false } = {}) {
      refuseDotFolder(caller, spec)
      const groupId = await groupFor(caller, spec)
      const host = await hostFor(caller, spec)
      const id = newId(FolderId)
      await storage.create(host, id)
      const owner = groupId === null ? { user_id: caller.userId, group_id: null } : { user_id: null, group_id: groupId }
      const row = {
        id,
        name: spec.name,
        storage_host: host,
        usage_mode: spec.usageMode ?? 'general',
        permission: spec.permission ?? 'rw',
        max_bytes: spec.maxBytes ?? null,
        max_files: spec.maxFiles ?? null,
        ...owner,
      }
      try {
        await store.transaction(async trx => {
          // Locks the account for the count.
          if (groupId === null) await requireFewFolders(trx, caller)
          await requireStillSignedIn(trx, caller)
          await insertFolder(trx, row)
          if (isClone) await insertFolderClone(trx, id)
        })
      } catch (error) {
        const said = sayWhy(error, spec.name)
        // After any other error the row may have been written, so its directory stays. If the directory cannot be removed, an empty one
        // stays, and the user needs the first error.
        if (isAppError(said) && REFUSALS.has(said.code)) await storage.discard(host, id).catch(() => undefined)
        throw said
      }
      await quotas.enforce(id)
      await hints.changed(id)
      return view(caller, id)
    },

    async update(caller, id, change) {
      await store.transaction(async trx => {
        await holdSignedIn(trx, caller)
        await lockFolder(trx, id)
        const row = await requireManaged(trx, caller, id)
        requireSoundChange(row, change)
        if (change.name !== undefined && isAutomount(change.name)) await requireOwnUse(trx, row)
        await updateFolder(trx, id, change).catch((error: unknown) => {
          throw sayWhy(error, change.name ?? row.name)
        })
      })
      if (change.maxBytes !== undefined || change.maxFiles !== undefined) await quotas.enforce(id)
      await hints.changed(id)
      return view(caller, id)
    },

    async trash(caller, id) {
      await store.transaction(async trx => {
        await lockFolder(trx, id)
        const { status, name } = await requireManaged(trx, caller, id)
        if (status === 'trashed') return
        await requireUnused(trx, caller, { id, name })
        await updateFolder(trx, id, { status: 'trashed' })
      })
      await hints.changed(id)
      return view(caller, id)
    },

    async restore(caller, id) {
      await store.transaction(async trx => {
        await holdSignedIn(trx, caller)
        await lockFolder(trx, id)
        const { status, name } = await requireManaged(trx, caller, id)
        if (status !== 'trashed') return
        if (isLikeId(name)) throw new AppError('bad_request', because('folder_named_like_id'))
        await updateFolder(trx, id, { status: 'ready' }).catch((error: unknown) => {
          throw sayWhy(error, name)
        })
      })
      await hints.changed(id)
      return view(caller, id)
    },

    async remove(caller, id) {
      const host = await store.transaction(async trx => {
        await lockFolder(trx, id)
        const { status, name, storage_host } = await requireManaged(trx, caller, id)
        if (status !== 'trashed') {
          throw new AppError('folder_not_trashed', { name, ...because('folder_not_trashed_first', { name }) })
        }
        await requireUnused(trx, caller, { id, name })
        await updateFolder(trx, id, { status: 'deleting' })
        return storage_host
      })
      await hints.changed(id)
      removals.start(host, id)
    },
  }
}

/** Errors after which no folder was written. */
const REFUSALS: ReadonlySet<string> = new Set([
  'folder_exists',
  'group_not_found',
  'not_signed_in',
  'over_folder_limit',
])

/** Names the blocking sessions that the caller may see, and counts the others. @throws AppError `folder_in_use` */
async function requireUnused(trx: Db, caller: Caller, { id, name }: Pick<FolderRow, 'id' | 'name'>): Promise<void> {
  const seen = visibleTo(caller)
  const { count, names } = await readUsers(trx, id, seen && { ...seen, sharedWith: caller.userId })
  if (count > 0) throw new AppError('folder_in_use', { name, ...usedBecause({ name, count, names }) })
}

function usedBecause({ name, count, names }: { name: string; count: number; names: readonly string[] }): Because {
  if (names.length === 0) return because('folder_used_by_others', { name, count })
  const [sessions, more] = [names.join(', '), count - names.length]
  return more > 0
    ? because('folder_used_by_more', { name, sessions, more })
    : because('folder_used_by', { name, sessions })
}

/** @throws AppError `bad_request`, `folder_shared` */
function requireSoundChange({ group_id, shared_with, name }: FolderRow, change: FolderChange): void {
  if (change.permission !== undefined && group_id === null) {
    throw new AppError('bad_request', because('folder_permission_of_project'))
  }
  if (change.name === undefined) return
  if (group_id !== null) requireNoDot(change.name)
  else if (isAutomount(change.name) && shared_with > 0) {
    throw new AppError('folder_shared', { name, ...because('folder_dot_has_members', { name }) })
  }
}

/**
 * Refuses a name with a leading dot for a folder into which others can write in a running session: each new session of the owner would
 * mount it, and programs there run files from it (`.ipython`, `.local/lib`). @throws AppError `folder_shared`
 */
async function requireOwnUse(trx: Db, { id, name }: FolderRow): Promise<void> {
  const session = await findUsedByOthers(trx, id)
  if (session === undefined) return
  const why =
    session.name === null
      ? because('folder_dot_mounted_by_others', { name })
      : because('folder_dot_used_by_others', { name, session: session.name })
  throw new AppError('folder_shared', { name, ...why })
}

/** Names like `.ssh` have a meaning to programs: a project must not put its files there. @throws AppError `bad_request` */
function requireNoDot(name: string): void {
  if (!isAutomount(name)) return
  throw new AppError('bad_request', because('folder_dot_of_project'))
}

/** Turns a violation of a table constraint into an error in the user's words. */
function sayWhy(error: unknown, name: string): unknown {
  if (isUniqueViolation(error)) {
    return new AppError('folder_exists', { name, ...because('folder_taken', { name }) }, { cause: error })
  }
  if (isForeignKeyViolation(error, 'folders_group_id_fkey')) {
    return new AppError('group_not_found', because('project_deleted'), { cause: error })
  }
  return error
}
