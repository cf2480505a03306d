import { every } from '#base/every'
import { type FolderId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Store } from '../store/open-store.ts'
import { deleteFolderRow, listDeleting } from '../store/storage/folders.ts'

/**
 * Removes files of deleted folders in the background, one folder of a storage host at a time. Closing interrupts it; the next start
 * continues it.
 */
export interface Removals extends AsyncDisposable {
  start(host: string, id: FolderId): void
}

const RETRY_MS = 10 * 60_000

/** Continues interrupted removals, and retries failed ones. */
export function startRemovals({ store, storage, log }: { store: Store; storage: StorageHosts; log: Log }): Removals {
  const cut = new AbortController()
  const isCut = () => cut.signal.aborted
  const pending = new Set<FolderId>()
  /** End of the last removal of each storage host. */
  const queues = new Map<string, Promise<void>>()

  async function remove(host: string, id: FolderId): Promise<void> {
    if (isCut()) return
    try {
      await storage.remove(host, id, cut.signal)
      await deleteFolderRow(store.db, id)
    } catch (error) {
      if (!isCut()) log.warn({ err: error, folderId: id, host }, 'the files of a folder were not removed')
    } finally {
      pending.delete(id)
    }
  }

  const start = (host: string, id: FolderId) => {
    if (isCut() || pending.has(id)) return
    pending.add(id)
    queues.set(
      host,
      (queues.get(host) ?? Promise.resolve()).then(() => remove(host, id)),
    )
  }

  const resume = async () => {
    for (const { id, storage_host } of await listDeleting(store.db)) start(storage_host, id)
  }
  const resuming = every(RETRY_MS, resume, error => log.warn({ err: error }, 'the deleted folders were not read'))
  void resuming.now()

  return {
    start,
    async [Symbol.asyncDispose]() {
      resuming[Symbol.dispose]()
      cut.abort()
      await Promise.all(queues.values())
    },
  }
}
