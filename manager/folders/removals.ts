import { type FolderId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Store } from '../store/open-store.ts'
import { deleteFolderRow, listDeleting } from '../store/storage/folders.ts'

/** Removal of the files of deleted folders, in the background. Closing interrupts it; the next start continues it. */
export interface Removals extends AsyncDisposable {
  start(host: string, id: FolderId): void
}

const RETRY_MS = 10 * 60_000

/** Starts the removals that were interrupted, and tries those again that failed. */
export function startRemovals({ store, storage, log }: { store: Store; storage: StorageHosts; log: Log }): Removals {
  const cut = new AbortController()
  const running = new Map<FolderId, Promise<void>>()

  async function remove(host: string, id: FolderId): Promise<void> {
    try {
      await storage.remove(host, id, cut.signal)
      await deleteFolderRow(store.db, id)
    } catch (error) {
      if (!cut.signal.aborted) log.warn({ err: error, folderId: id, host }, 'the files of a folder were not removed')
    } finally {
      running.delete(id)
    }
  }

  const start = (host: string, id: FolderId) => {
    if (!cut.signal.aborted && !running.has(id)) running.set(id, remove(host, id))
  }

  const resume = () => {
    listDeleting(store.db).then(
      rows => rows.forEach(({ id, storage_host }) => start(storage_host, id)),
      (error: unknown) => log.warn({ err: error }, 'the deleted folders were not read'),
    )
  }
  resume()
  const timer = setInterval(resume, RETRY_MS).unref()

  return {
    start,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      cut.abort()
      await Promise.all(running.values())
    },
  }
}
