import { defined } from '#base/defined'
import { every } from '#base/every'
import {
  AppError,
  because,
  type Folder,
  type FolderCloned,
  type FolderCloneSpec,
  type FolderId,
} from '#manager/contract'
import { type FolderHints } from '../folders/hints.ts'
import { type FolderQuotas } from '../folders/folder-quotas.ts'
import { type Amount } from '../folders/size-rules.ts'
import { type Removals } from '../folders/removals.ts'
import { type Folders } from '../folders/service.ts'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { abandonFolderClones, deleteFolderClone, renewFolderClone } from '../store/storage/folder-clones.ts'
import { type Caller } from '../users/authorize.ts'
import { copyEntries, type CopyProgress } from './copies.ts'
import { type CopyTasks } from './copy-tasks.ts'
import { isCode } from './places.ts'
import { type FolderOpener, type FolderRights, type OpenFolder, requireFilled } from './open-folder.ts'

/** Interval at which the manager that fills a folder renews its mark. */
const RENEW_MS = 5_000
/** A folder whose mark was not renewed for this long is deleted: nobody fills it any more. */
const SILENT_SECONDS = 30
const SWEEP_MS = 60_000

/**
 * Copies of whole folders to new ones. The new folder belongs to the caller, whoever owns the original. It exists from the beginning, marked as
 * incomplete: no session mounts it yet. It is deleted with all its files if the copy fails, is cancelled, or ends with its manager.
 * Disposing ends the search for folders of managers that have died.
 */
export interface Clones extends AsyncDisposable {
  /**
   * Waits a second; a copy that takes longer continues as a task. @throws AppError `folder_not_found`, `folder_incomplete`,
   * `folder_exists`, `over_folder_limit`, `storage_host_not_found`, `storage_away`, `disk_full`
   */
  clone(caller: Caller, id: FolderId, spec: FolderCloneSpec): Promise<FolderCloned>
}

export interface ClonesDeps {
  readonly store: Pick<Store, 'db'>
  readonly open: FolderOpener
  readonly rights: Pick<FolderRights, 'require'>
  readonly folders: Pick<Folders, 'create' | 'trash' | 'remove'>
  readonly removals: Pick<Removals, 'start'>
  readonly copies: CopyTasks
  readonly quotas: Pick<FolderQuotas, 'meter'>
  readonly hints: FolderHints
  readonly log: Log
}

export function startClones({
  store,
  open,
  rights,
  folders,
  removals,
  copies,
  quotas,
  hints,
  log,
}: ClonesDeps): Clones {
  const { db } = store

  /** Deletes folders whose manager has died, with the files copied so far. */
  async function sweep(): Promise<void> {
    for (const { id, name, storage_host } of await abandonFolderClones(db, SILENT_SECONDS)) {
      log.warn({ folderId: id, name }, 'the manager that filled a cloned folder has died: the folder is deleted')
      removals.start(storage_host, id)
      await hints.changed(id)
    }
  }
  const sweeping = every(SWEEP_MS, sweep, error => log.warn({ err: error }, 'incomplete clones were not looked for'))
  void sweeping.now()

  async function discard(caller: Caller, { id, name }: Folder): Promise<void> {
    try {
      await folders.trash(caller, id)
      await folders.remove(caller, id)
    } catch (cause) {
      if (isCode(cause, 'folder_not_found')) return
      // The mark stays, so a sweep deletes the folder.
      throw new AppError('unavailable', { name, ...because('clone_left_over', { name }) }, { cause })
    }
  }

  /** Copies the files while renewing the mark, and removes the mark at the end. */
  async function fill(
    folder: Folder,
    [from, to]: readonly [OpenFolder, OpenFolder],
    { progress, signal }: { progress: CopyProgress; signal: AbortSignal },
  ): Promise<void> {
    const lost = new AbortController()
    const renew = async () => {
      if (!(await renewFolderClone(db, folder.id))) lost.abort(deleted(folder))
    }
    {
      // If the database is away for a moment, continue; the copy ends only if the folder was given up meanwhile.
      using _renewing = every(RENEW_MS, renew, error =>
        log.warn({ err: error, folderId: folder.id }, 'a clone was not renewed'),
      )
      await using meter = quotas.meter(to.row)
      const reserve = (more: Amount) => meter.take(more)
      await copyEntries(from.top, to.top, { progress, signal: AbortSignal.any([signal, lost.signal]), reserve })
      if (!(await deleteFolderClone(db, folder.id))) throw deleted(folder)
    }
    await hints.changed(folder.id)
  }

  return {
    async clone(caller, id, { name, storageHost }) {
      await using stack = new AsyncDisposableStack()
      stack.use(copies.enter(caller))
      const from = stack.use(await open(caller, id, 'ro'))
      requireFilled(from)
      const spec = { name, storageHost: storageHost ?? from.row.storage_host, usageMode: from.row.usage_mode }
      const folder = await folders.create(caller, spec, { isClone: true })
      const opening = open(caller, folder.id, 'rw').catch(async (error: unknown) => {
        await discard(caller, folder)
        throw error
      })
      const to = stack.use(await opening)
      const held = stack.move()
      // The new folder belongs to the caller; if it was deleted meanwhile, renewing its mark fails.
      const check = () => rights.require(caller, id, 'ro')
      const { task, leftOut } = await copies.run({ caller, folder, items: [], check }, async (progress, signal) => {
        await using _held = held
        try {
          await fill(folder, [from, to], { progress, signal })
        } catch (error) {
          // Discard the folder: an incomplete copy must not look like a complete one.
          await discard(caller, folder)
          throw error
        }
      })
      return { folder: task === null ? { ...folder, cloning: false } : folder, task, ...defined({ leftOut }) }
    },

    [Symbol.asyncDispose]: () => sweeping[Symbol.asyncDispose](),
  }
}

function deleted({ name }: Folder): AppError {
  return new AppError('folder_not_found', { name, ...because('folder_deleted_filling', { name }) })
}
