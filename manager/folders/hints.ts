import { type FolderId, type UserId } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { listConcerned } from '../store/storage/folder-members.ts'

/** Tells the pages that show a folder that it, its members or its invitations have changed, or that it is gone. */
export interface FolderHints {
  /**
   * Sends a hint to the owner and the members. For a folder of a project, everyone gets a hint without its id: members and admins of the
   * project fetch their list, and the others learn nothing from it. Never rejects: a missing hint only costs a reload.
   *
   * @param also users who saw the folder before the change, or who see an invitation
   */
  changed(id: FolderId, also?: readonly (UserId | undefined)[]): Promise<void>
}

export interface FolderHintsDeps {
  readonly store: Pick<Store, 'db' | 'now'>
  readonly events: Pick<EventPublisher, 'publish'>
  readonly log: Log
}

export function createFolderHints({ store, events, log }: FolderHintsDeps): FolderHints {
  return {
    async changed(id, also = []) {
      const version = store.now()
      try {
        const { isOfProject, users } = await listConcerned(store.db, id)
        if (isOfProject) events.publish({ topic: 'folder', id: 'all', version }, 'everyone')
        for (const userId of new Set([...users, ...also])) {
          if (userId) events.publish({ topic: 'folder', id, version }, { userId })
        }
      } catch (error) {
        log.warn({ err: error, folderId: id }, 'pages were not told of a change of a folder')
      }
    },
  }
}
