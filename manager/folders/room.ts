import { type AppError, type FolderId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Store } from '../store/open-store.ts'
import {
  addUsage,
  type FolderSizes,
  listOfSameOwner,
  listUnenforced,
  readSizes,
  saveEnforced,
} from '../store/storage/folder-usage.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { enforceable, isLimited, sizeFault, stagedFault } from './size-rules.ts'
import { type FolderUsages } from './usage.ts'

/**
 * Limits on the size of folders. Each write that passes through Berth is checked against the measured size and added to it; a write that
 * does not fit is refused only after a new count. Where the file system has quotas it enforces the limit too, also for sessions.
 */
export interface FolderRoom extends AsyncDisposable {
  /** @throws AppError `quota_folder_full`, `quota_total_full` */
  require(row: LimitedRow, bytes: number): Promise<void>
  /**
   * For an upload of so many bytes that is on record: it has to fit beside all others that are not finished. Two that are begun at once both
   * count, so both may be refused, but they never share the last room.
   *
   * @throws as `require`
   */
  requireStaged(row: LimitedRow, bytes: number): Promise<void>
  /** Notes bytes that are about to be written. @throws as `require` */
  take(row: LimitedRow, bytes: number): Promise<void>
  /** Takes back what was not written after all. */
  giveBack(row: LimitedRow, bytes: number): Promise<void>
  /** For many small writes to one folder. */
  meter(row: LimitedRow): Meter
  /** Has the file system enforce the limits as they are now. Does not throw: a limit that cannot be set is a soft one. */
  enforce(id: FolderId): Promise<void>
  /**
   * As `enforce`, for all folders whose limits are others than their file systems enforce, e.g. after a change of a
   * resource policy. It runs in the background; disposing waits for it.
   */
  enforceAll(): void
}

export type LimitedRow = Pick<
  FolderRow,
  'id' | 'storage_host' | 'max_bytes' | 'owner_max_bytes' | 'measured_at' | 'took_ms'
>

/** Takes room in large steps. Disposing gives back what was not used. */
export interface Meter extends AsyncDisposable {
  /** @throws as `FolderRoom.take` */
  take(bytes: number): Promise<void>
}

const STEP_BYTES = 8 * 2 ** 20

export interface FolderRoomDeps {
  readonly store: Pick<Store, 'db'>
  readonly storage: Pick<StorageHosts, 'limit'>
  readonly usages: Pick<FolderUsages, 'look' | 'again'>
  readonly log: Log
}

export function createFolderRoom({ store: { db }, storage, usages, log }: FolderRoomDeps): FolderRoom {
  const require = (row: LimitedRow, bytes: number): Promise<void> => judge(row, sizes => sizeFault(sizes, bytes))

  async function judge(row: LimitedRow, faultOf: (sizes: FolderSizes) => AppError | undefined): Promise<void> {
    if (!isLimited(row)) return
    usages.look([row])
    const sizes = await readSizes(db, row.id)
    if (!sizes || (sizes.bytes !== null && !faultOf(sizes))) return
    // Files may have been deleted since the last count.
    await usages.again(row.owner_max_bytes === null ? [row] : await listOfSameOwner(db, row.id))
    const counted = await readSizes(db, row.id)
    const fault = counted && faultOf(counted)
    if (fault) throw fault
  }

  async function take(row: LimitedRow, bytes: number): Promise<void> {
    await require(row, bytes)
    if (isLimited(row) && bytes > 0) await addUsage(db, row.id, bytes)
  }

  async function giveBack(row: LimitedRow, bytes: number): Promise<void> {
    if (isLimited(row) && bytes > 0) await addUsage(db, row.id, -bytes)
  }

  async function enforce(id: FolderId): Promise<void> {
    try {
      const sizes = await readSizes(db, id)
      if (!sizes) return
      const wanted = enforceable(sizes)
      if (wanted === sizes.enforced_bytes) return
      const why = await storage.limit(sizes.storage_host, id, wanted)
      if (why !== undefined) log.debug({ folderId: id, why }, 'the file system does not enforce the limit of a folder')
      await saveEnforced(db, id, why === undefined ? wanted : null)
    } catch (error) {
      log.warn({ err: error, folderId: id }, 'the limit of a folder was not handed to its file system')
    }
  }

  let enforcing = Promise.resolve()
  let isClosing = false
  async function enforceEach(): Promise<void> {
    try {
      for (const id of isClosing ? [] : await listUnenforced(db)) {
        if (isClosing) return
        await enforce(id)
      }
    } catch (error) {
      log.warn({ err: error }, 'limits of folders were not handed to their file systems')
    }
  }

  return {
    require,
    requireStaged: (row, bytes) => judge(row, sizes => stagedFault(sizes, bytes)),
    take,
    giveBack,
    enforce,
    enforceAll() {
      enforcing = enforcing.then(enforceEach)
    },
    async [Symbol.asyncDispose]() {
      isClosing = true
      await enforcing
    },
    meter(row) {
      let held = 0
      const more = async (bytes: number) => {
        const step = Math.max(bytes, STEP_BYTES)
        const wide = await take(row, step).then(
          () => true,
          () => false,
        )
        if (!wide) await take(row, bytes)
        held += wide ? step : bytes
      }
      let turn = Promise.resolve()
      return {
        take(bytes) {
          if (!isLimited(row)) return Promise.resolve()
          // Each call waits for the one before it: writes at the same time would each take a step.
          const mine = turn.then(async () => {
            if (held < bytes) await more(bytes - held)
            held -= bytes
          })
          turn = mine.catch(() => undefined) // the writer gets the error
          return mine
        },
        async [Symbol.asyncDispose]() {
          await turn
          await giveBack(row, held)
          held = 0
        },
      }
    },
  }
}
