import { type FolderId } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { listConcerned } from '../store/storage/folder-members.ts'
import { listProjectMembers } from '../store/storage/folders.ts'

/** Changes of one directory within this time become one hint. */
const COLLECT_MS = 200
/**
 * Largest number of members that get the hint; members of a larger project get it by the watch of the directory that they see
 * (`watches.ts`).
 */
const MOST_TOLD = 200

/** Tells pages that show a directory that its entries have changed. Disposing drops hints that were not sent yet. */
export interface FileHints extends Disposable {
  /** @param path directory relative to the folder */
  changed(id: FolderId, path: string): void
}

export interface FileHintsDeps {
  readonly store: Pick<Store, 'db' | 'now'>
  readonly events: Pick<EventPublisher, 'publish'>
  readonly log: Log
}

export function createFileHints({ store, events, log }: FileHintsDeps): FileHints {
  const waiting = new Map<string, NodeJS.Timeout>()

  async function tell(id: FolderId, path: string): Promise<void> {
    const { users } = await listConcerned(store.db, id)
    const members = await listProjectMembers(store.db, id, MOST_TOLD)
    const version = store.now()
    for (const userId of new Set([...users, ...members])) {
      // Paths are private: no role gives access to them.
      events.publish({ topic: 'files', id, version, path }, { only: userId })
    }
  }

  return {
    changed(id, path) {
      const key = `${id}/${path}`
      if (waiting.has(key)) return
      const send = () => {
        waiting.delete(key)
        tell(id, path).catch((error: unknown) =>
          log.warn({ err: error, folderId: id }, 'pages were not told of changed files'),
        )
      }
      waiting.set(key, setTimeout(send, COLLECT_MS).unref())
    },
    [Symbol.dispose]() {
      for (const timer of waiting.values()) clearTimeout(timer)
      waiting.clear()
    },
  }
}
