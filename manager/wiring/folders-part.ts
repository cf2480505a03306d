import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { USUAL_STORAGE_HOST } from '#manager/contract'
import { requireManaged } from '../folders/find-folder.ts'
import { requireFolderStill } from '../folders/require-folder.ts'
import { startRemovals } from '../folders/removals.ts'
import { type EventPublisher } from '../events/bus.ts'
import { createFolderHints } from '../folders/hints.ts'
import { startClones } from '../files/clone.ts'
import { createFiles } from '../files/service.ts'
import { createHeavyWork, type HeavyWork } from '../files/heavy-work.ts'
import { createImports } from '../files/imports.ts'
import { createCopyTasks } from '../files/copy-tasks.ts'
import { createFileHints, type FileHints } from '../files/hints.ts'
import { createFolderOpener, createFolderRights, type FolderOpener } from '../files/open-folder.ts'
import { parentOf } from '../files/places.ts'
import { createDownloadTickets } from '../files/tickets.ts'
import { startSweeps } from '../files/sweeps.ts'
import { createFileWatches, type FileWatches } from '../files/watches.ts'
import { createFolderQuotas, type FolderQuotas } from '../folders/folder-quotas.ts'
import { createFolders } from '../folders/service.ts'
import { createSharing } from '../folders/sharing.ts'
import { createFolderUsages } from '../folders/usage.ts'
import { createFileRoutes } from '../http/routes/files.ts'
import { createFolderRoutes, createFolderSharingRoutes } from '../http/routes/folders.ts'
import { type Log } from '../log.ts'
import { type Mailer } from '../mail/mailer.ts'
import { type Settings } from '../settings/settings.ts'
import { createUploadRoutes } from '../http/routes/uploads.ts'
import { createDiskFloor, roomBeside } from '../storage/disk-floor.ts'
import { createStorageHosts } from '../storage/storage-hosts.ts'
import { startParts } from '../uploads/parts.ts'
import { createBundles } from '../uploads/bundles.ts'
import { type UploadsDeps } from '../uploads/deps.ts'
import { createUploads } from '../uploads/uploads.ts'
import { createTasks } from '../tasks/tasks.ts'
import { type Store } from '../store/open-store.ts'
import { type LongRequests } from '../users/long-requests.ts'

export interface FoldersPartDeps {
  readonly store: Store
  /** Absolute. */
  readonly dataDir: string
  /** Space that agents keep free on a disk; none if left out. */
  readonly floorBytes: number | undefined
  /** Absolute directory of each storage host, by its name; one in the data directory if left out. */
  readonly paths: ReadonlyMap<string, string> | undefined
  readonly events: EventPublisher
  readonly mailer: Pick<Mailer, 'post'>
  readonly settings: Pick<Settings, 'read'>
  readonly log: Log
  readonly longRequests: LongRequests
}

/** Folders, their files, and the storage hosts that hold them. Closing interrupts removals and copies. */
export interface FoldersPart extends AsyncDisposable {
  readonly open: FolderOpener
  readonly quotas: FolderQuotas
  readonly heavyWork: Pick<HeavyWork, 'give'>
  readonly fileHints: FileHints
  readonly fileWatches: FileWatches
  readonly handlers: ReturnType<typeof createFolderRoutes> &
    ReturnType<typeof createFolderSharingRoutes> &
    ReturnType<typeof createUploadRoutes> &
    ReturnType<typeof createFileRoutes>
}

/** Marks new storage hosts before agents look for them. An unavailable storage host does not prevent the start. */
export async function startFoldersPart(deps: FoldersPartDeps): Promise<FoldersPart> {
  const { store, dataDir, floorBytes = 0, paths, events, mailer, settings, longRequests, log } = deps
  const usual = join(dataDir, 'storage')
  if (!paths) await mkdir(usual, { recursive: true, mode: 0o700 })
  const storage = createStorageHosts({
    db: store.db,
    paths: paths ?? new Map([[USUAL_STORAGE_HOST, usual]]),
    floor: createDiskFloor({ floorBytes, look: path => roomBeside(dataDir, path) }),
    log,
  })
  for (const { name, problem } of await storage.list()) {
    if (problem !== null) log.warn({ storageHost: name, why: problem }, 'a storage host cannot be used')
  }
  await using stack = new AsyncDisposableStack()
  const removals = stack.use(startRemovals({ store, storage, log }))
  const sweeps = stack.use(startSweeps({ storage, log }))
  const fileHints = stack.use(createFileHints({ store, events, log }))
  const fileWatches = stack.use(createFileWatches({ store, storage, log }))
  const copies = createCopyTasks({ tasks: stack.use(createTasks({ store, events, log })), longRequests })
  const open = createFolderOpener({ db: store.db, storage })
  const rights = createFolderRights({ db: store.db, longRequests })
  const parts = stack.use(startParts({ store, storage, log }))
  const hints = createFolderHints({ store, events, log })
  const usages = stack.use(createFolderUsages({ store, storage, hints, log }))
  const quotas = stack.use(createFolderQuotas({ store, storage, usages, log }))
  const heavyWork = createHeavyWork()
  const files = stack.use(createFiles({ open, rights, storage, sweeps, hints: fileHints, copies, quotas, heavyWork }))
  const imports = createImports({ open, rights, files, storage, sweeps, hints: fileHints, copies, quotas })
  const uploadDeps: UploadsDeps = {
    store,
    parts,
    async openFolder(caller, folderId) {
      const row = await requireFolderStill(store.db, caller, folderId, 'rw')
      return {
        storageHost: row.storage_host,
        name: row.name,
        limitsBytes: row.max_bytes !== null || row.owner_max_bytes !== null,
        limitsFiles: row.max_files !== null || row.owner_max_files !== null,
        requireSpace: more => quotas.require(row, more),
        requireStaged: upload => quotas.requireStaged(row, upload),
        reserve: more => quotas.take(row, more),
        open: () => storage.open(row.storage_host, folderId, caller.userId),
      }
    },
    watch: (caller, folderId, cut) => rights.watch(caller, folderId, 'rw', cut),
    requireManaged: async (caller, folderId) => void (await requireManaged(store.db, caller, folderId)),
    onPlaced: (_caller, folderId, path) => fileHints.changed(folderId, parentOf(path)),
  }
  const folders = createFolders({ store, storage, removals, hints, usages, quotas })
  const clones = stack.use(startClones({ store, open, rights, folders, removals, copies, quotas, hints, log }))
  const opened = stack.move()
  return {
    open,
    quotas,
    heavyWork,
    fileHints,
    fileWatches,
    handlers: {
      ...createFolderRoutes(folders),
      ...createFolderSharingRoutes(createSharing({ store, hints, mailer, settings, log })),
      ...createUploadRoutes(createUploads(uploadDeps), createBundles(uploadDeps)),
      ...createFileRoutes(files, { tickets: createDownloadTickets({ db: store.db, files }), clones, imports }),
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
