import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { USUAL_STORAGE_HOST } from '#manager/contract'
import { type EventPublisher } from '../events/bus.ts'
import { startRemovals } from '../folders/removals.ts'
import { createFolders } from '../folders/service.ts'
import { createFolderRoutes } from '../http/routes/folders.ts'
import { type Log } from '../log.ts'
import { createStorageHosts } from '../storage/storage-hosts.ts'
import { type Store } from '../store/open-store.ts'

export interface FoldersPartDeps {
  readonly store: Store
  readonly events: Pick<EventPublisher, 'publish'>
  /** Absolute. */
  readonly dataDir: string
  /** Absolute directory of each storage host, by its name; one in the data directory if left out. */
  readonly paths: ReadonlyMap<string, string> | undefined
  readonly log: Log
}

/** Folders and the storage hosts that hold them. Closing interrupts removals. */
export interface FoldersPart extends AsyncDisposable {
  readonly handlers: ReturnType<typeof createFolderRoutes>
}

/** Marks new storage hosts before agents look for them. A storage host that is away does not prevent the start. */
export async function startFoldersPart({ store, events, dataDir, paths, log }: FoldersPartDeps): Promise<FoldersPart> {
  const usual = join(dataDir, 'storage')
  if (!paths) await mkdir(usual, { recursive: true, mode: 0o711 })
  const storage = createStorageHosts({ db: store.db, paths: paths ?? new Map([[USUAL_STORAGE_HOST, usual]]) })
  for (const { name, problem } of await storage.list()) {
    if (problem !== null) log.warn({ storageHost: name, why: problem }, 'a storage host cannot be used')
  }
  const removals = startRemovals({ store, storage, log })
  return {
    handlers: createFolderRoutes(createFolders({ store, events, storage, removals })),
    [Symbol.asyncDispose]: () => removals[Symbol.asyncDispose](),
  }
}
