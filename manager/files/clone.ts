import { AppError, type Folder, type FolderCloned, type FolderCloneSpec, type FolderId } from '#manager/contract'
import { type Folders } from '../folders/service.ts'
import { type Caller } from '../users/authorize.ts'
import { copyEntries } from './copies.ts'
import { type CopyTasks } from './copy-tasks.ts'
import { type FolderOpener } from './open-folder.ts'

/**
 * Copies of whole folders to new ones. The new folder belongs to the caller, whoever owns the original, and is there from the beginning. It is deleted
 * with all its files if the copy fails or is cancelled. If the manager dies, it stays as far as it was filled, and its task says so.
 */
export interface Clones {
  /**
   * Waits a second; a copy that takes longer goes on as a task.
   *
   * @throws AppError `folder_not_found`, `folder_exists`, `over_folder_limit`, `storage_host_not_found`, `storage_away`, `disk_full`
   */
  clone(caller: Caller, id: FolderId, spec: FolderCloneSpec): Promise<FolderCloned>
}

export interface ClonesDeps {
  readonly open: FolderOpener
  readonly folders: Pick<Folders, 'create' | 'trash' | 'remove'>
  readonly copies: CopyTasks
}

export function createClones({ open, folders, copies }: ClonesDeps): Clones {
  async function discard(caller: Caller, { id }: Folder): Promise<void> {
    await folders.trash(caller, id)
    await folders.remove(caller, id)
  }

  return {
    async clone(caller, id, { name, storageHost }) {
      await using stack = new AsyncDisposableStack()
      const from = stack.use(await open(caller, id, 'ro'))
      const folder = await folders.create(caller, { name, storageHost: storageHost ?? from.row.storage_host })
      const to = stack.use(await open(caller, folder.id, 'rw'))
      const held = stack.move()
      const { task } = await copies.run({ caller, folder, items: [] }, async (progress, signal) => {
        await using _held = held
        try {
          await copyEntries(from.top, to.top, { progress, signal })
        } catch (error) {
          // Nobody must take the half of a folder for the whole.
          await discard(caller, folder).catch((cause: unknown) => {
            const why = `The copy failed, and the new folder "${name}" could not be deleted: it is incomplete.`
            throw new AppError('unavailable', { name, why }, { cause })
          })
          throw error
        }
      })
      return { folder, task }
    },
  }
}
