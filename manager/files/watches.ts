import { createKeyedMutex } from '#base/mutex'
import { AppError, type EventHint, type FolderId, type UserId } from '#manager/contract'
import { requireFolder } from '../folders/require-folder.ts'
import { type Log } from '../log.ts'
import { type FileState } from '../storage/file-state.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { watchDirectory } from '../storage/watch-directory.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'

/** A directory that a page shows. */
export interface ShownDirectory {
  readonly folderId: FolderId
  /** Relative to the folder. */
  readonly path: string
}

/**
 * Watches the directories that pages show, because sessions change files without telling the manager. Each manager watches for its own
 * event streams, and each directory only once for all of them.
 *
 * Threat model: naming a directory grants nothing. The viewer's right to read the folder is checked before every hint, and a directory that
 * nobody may read is not watched. Directories are opened as for every other operation, so no link leads out of the folder. A session that
 * changes files all the time causes one check in 5 seconds.
 */
export interface FileWatches extends Disposable {
  /**
   * Calls `send` with a hint `files` after a change in one of the directories. Directories beyond the limits are not watched.
   *
   * @returns a disposable that ends the watch
   */
  watch(caller: Caller, directories: readonly ShownDirectory[], send: (hint: EventHint) => void): () => void
  /** Number of directories that are watched. */
  count(): number
}

export interface FileWatchesDeps {
  readonly store: Pick<Store, 'db' | 'now'>
  readonly storage: Pick<StorageHosts, 'open'>
  readonly log: Log
  readonly limits?: Partial<WatchLimits>
  readonly byKernel?: typeof watchDirectory
}

interface WatchLimits {
  /** Directories of all streams. */
  readonly most: number
  readonly mostPerUser: number
  /** Largest number of directories that are polled every `pollMs`, because the kernel does not watch them. */
  readonly mostPolled: number
  /** Wait after the first change, because changes come in groups; it doubles under lasting changes, up to `busyMs`. */
  readonly gatherMs: number
  readonly busyMs: number
  readonly pollMs: number
  /** Interval at which every directory is checked: it may have been replaced, or its storage may be back. */
  readonly scanEveryMs: number
}

const LIMITS: WatchLimits = {
  most: 1_000,
  mostPerUser: 64,
  mostPolled: 200,
  gatherMs: 200,
  busyMs: 5_000,
  pollMs: 2_000,
  scanEveryMs: 30_000,
}

/** A directory that changed less than this before the watch began may have changed after it was listed. */
const RECENT_MS = 10_000

interface Viewer {
  readonly caller: Caller
  readonly send: (hint: EventHint) => void
  isNew: boolean
}

interface Watched extends ShownDirectory {
  readonly viewers: Set<Viewer>
  /** Ends the watch of the kernel. */
  held?: Disposable | undefined
  /** State of the directory at the last check; `null` if it could not be opened. */
  seen?: string | null
  /** True if the kernel has reported a change since the last check. */
  isChanged: boolean
  isPolled: boolean
  isScanning: boolean
  timer?: NodeJS.Timeout | undefined
  toldAt: number
  distanceMs: number
}

export function createFileWatches({
  store,
  storage,
  log,
  limits,
  byKernel = watchDirectory,
}: FileWatchesDeps): FileWatches {
  const rules = { ...LIMITS, ...limits }
  const all = new Map<string, Watched>()
  const users = new Map<UserId, number>()
  /** Keyed by storage, so that a slow storage gets only one request at a time. */
  const turns = createKeyedMutex()

  const isOver = (one: Watched) => one.viewers.size === 0
  const polled = () => [...all.values()].filter(one => one.isPolled).length

  function schedule(one: Watched, afterMs: number): void {
    clearTimeout(one.timer)
    // The scan is for all who see the directory.
    one.timer = onBehalfOfAll(() => setTimeout(() => void scanSafely(one), afterMs).unref())
  }

  function onChange(one: Watched): void {
    one.isChanged = true
    if (isOver(one) || one.isScanning) return
    if (performance.now() - one.toldAt > 2 * rules.busyMs) one.distanceMs = rules.gatherMs
    schedule(one, one.distanceMs)
    one.distanceMs = Math.min(rules.busyMs, one.distanceMs * 2)
  }

  async function scanSafely(one: Watched): Promise<void> {
    if (one.isScanning) return
    one.isScanning = true
    try {
      await scan(one)
    } catch (error) {
      log.warn({ err: error, folderId: one.folderId }, 'a directory that is shown could not be watched')
    }
    one.isScanning = false
    if (isOver(one)) letGo(one)
    else if ([...one.viewers].some(viewer => viewer.isNew)) schedule(one, 0)
    else if (one.isChanged) onChange(one)
    else schedule(one, one.isPolled ? rules.pollMs : rules.scanEveryMs)
  }

  async function scan(one: Watched): Promise<void> {
    letGo(one)
    const wasChanged = one.isChanged
    one.isChanged = false
    const viewers = [...one.viewers]
    const newcomers = new Set(viewers.filter(viewer => viewer.isNew))
    for (const viewer of newcomers) viewer.isNew = false
    const { allowed, host } = await allowedOf(store.db, one, viewers)
    const state = host === undefined ? null : await turns(host, () => open(one, host))
    const before = one.seen
    one.seen = state?.etag ?? null
    const isTold = wasChanged || (before !== undefined && before !== one.seen)
    const isRecent = state !== null && store.now() - state.modifiedAt.getTime() < RECENT_MS
    const told = allowed.filter(viewer => isTold || (isRecent && newcomers.has(viewer)))
    if (told.length === 0) return
    one.toldAt = performance.now()
    const hint: EventHint = { topic: 'files', id: one.folderId, version: store.now(), path: one.path }
    for (const viewer of told) if (one.viewers.has(viewer)) viewer.send(hint)
  }

  /** Starts watching a directory, and reads its state. @returns null if it cannot be opened now */
  async function open(one: Watched, host: string): Promise<FileState | null> {
    try {
      await using top = await storage.open(host, one.folderId)
      await using directory = await top.walk(one.path)
      const held = await byKernel(directory, () => onChange(one))
      if (isOver(one)) held?.[Symbol.dispose]()
      else {
        one.held = held
        one.isPolled = held === undefined && polled() < rules.mostPolled
      }
      return await directory.state()
    } catch (error) {
      ignoreRefusal(error)
      return null
    }
  }

  function letGo(one: Watched): void {
    one.held?.[Symbol.dispose]()
    one.held = undefined
    one.isPolled = false
  }

  function join(directory: ShownDirectory, viewer: Viewer): boolean {
    const { folderId, path } = directory
    const { userId } = viewer.caller
    const own = users.get(userId) ?? 0
    const key = `${folderId}/${path}`
    const known = all.get(key)
    if (own >= rules.mostPerUser || (!known && all.size >= rules.most)) return false
    users.set(userId, own + 1)
    const one = known ?? newlyWatched(directory, rules.gatherMs)
    all.set(key, one)
    one.viewers.add(viewer)
    if (!one.isScanning) schedule(one, 0)
    return true
  }

  function leave({ folderId, path }: ShownDirectory, viewer: Viewer): void {
    const { userId } = viewer.caller
    const own = (users.get(userId) ?? 1) - 1
    if (own === 0) users.delete(userId)
    else users.set(userId, own)
    const key = `${folderId}/${path}`
    const one = all.get(key)
    one?.viewers.delete(viewer)
    if (!one || !isOver(one)) return
    all.delete(key)
    clearTimeout(one.timer)
    letGo(one)
  }

  return {
    watch(caller, directories, send) {
      const joined = directories.flatMap(directory => {
        const viewer: Viewer = { caller, send, isNew: true }
        return join(directory, viewer) ? [() => leave(directory, viewer)] : []
      })
      return () => {
        for (const end of joined.splice(0)) end()
      }
    },
    count: () => all.size,
    [Symbol.dispose]() {
      for (const one of all.values()) {
        one.viewers.clear()
        clearTimeout(one.timer)
        letGo(one)
      }
      all.clear()
    },
  }
}

/** The viewers who may read the folder now, and its storage host. */
async function allowedOf(
  db: Db,
  { folderId }: ShownDirectory,
  viewers: readonly Viewer[],
): Promise<{ allowed: Viewer[]; host: string | undefined }> {
  const allowed: Viewer[] = []
  let host: string | undefined
  for (const viewer of viewers) {
    const row = await requireFolder(db, viewer.caller, folderId, 'ro').catch(ignoreRefusal)
    if (!row) continue
    allowed.push(viewer)
    host = row.storage_host
  }
  return { allowed, host }
}

const newlyWatched = ({ folderId, path }: ShownDirectory, gatherMs: number): Watched => ({
  folderId,
  path,
  viewers: new Set(),
  isChanged: false,
  isPolled: false,
  isScanning: false,
  toldAt: -Infinity,
  distanceMs: gatherMs,
})

/** Ignores that a folder, directory or storage cannot be opened now: the next check tries again. */
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof AppError)) throw error
}
