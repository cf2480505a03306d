import { type EventPublisher } from '../events/bus.ts'
import { type Store } from '../store/open-store.ts'
import { type FolderRow } from '../store/storage/folders.ts'

export interface FolderHintsDeps {
  readonly store: Pick<Store, 'now'>
  readonly events: Pick<EventPublisher, 'publish'>
}

/** Tells the pages that show a folder that it has changed or is gone. */
export type TellOfFolder = (folder: Pick<FolderRow, 'id' | 'user_id'>) => void

/**
 * A folder of a user is told to that user. A folder of a project is told to everyone without its id: members of the project
 * fetch their list, and the others learn nothing from it.
 */
export function createFolderHints({ store, events }: FolderHintsDeps): TellOfFolder {
  return ({ id, user_id: userId }) => {
    const version = store.now()
    if (userId === null) events.publish({ topic: 'folder', id: 'all', version }, 'everyone')
    else events.publish({ topic: 'folder', id, version }, { userId })
  }
}
