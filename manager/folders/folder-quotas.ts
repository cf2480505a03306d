import { createKeyedMutex } from '#base/mutex'
import { type AppError, type FolderId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Store } from '../store/open-store.ts'
import {
  addUsage,
  type FolderSizes,
  listOfSameOwner,
  listUnenforced,
  lockUsage,
  readSizes,
  saveEnforced,
} from '../store/storage/folder-usage.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { type Amount, amount, enforceable, isLimited, NOTHING, sizeFault, stagedFault, without } from './size-rules.ts'
import { type FolderUsages } from './usage.ts'

/**
 * Limits on the size of folders and on the number of their files. Each write that passes through Berth is checked against the measured size
 * and added to it; a write that does not fit is refused only after a new count. A folder is counted again soon after a write, with or
 * without a limit. A file system with quotas enforces the limit too, also for sessions.
 */
export interface FolderQuotas extends AsyncDisposable {
  /**
   * @param freed space that the write will free at its end; it counts as free already @throws AppError `quota_folder_full`,
   *   `quota_folder_files`, `quota_total_full`, `quota_total_files`
   */
  require(row: LimitedRow, more: Amount, freed?: Amount): Promise<void>
  /**
   * Checks that a recorded upload fits beside all other unfinished uploads. Two uploads that begin at once both count, so both may be
   * refused, but they never share the last space. The space of the file that it replaces counts as free.
   *
   * @param upload `freed`: bytes of files that the other uploads replace and that have not changed since a count began; called only if the
   *   upload does not fit otherwise
   * @throws as `require`
   */
  requireStaged(row: LimitedRow, upload: StagedUpload): Promise<void>
  /** Records a write before it happens. Of several at once, at any manager, only those are recorded that fit together. @throws as `require` */
  take(row: LimitedRow, more: Amount, freed?: Amount): Promise<void>
  /**
   * Runs work that empties or removes a file or directory of a folder, and records its space as free. Works on the same entry run one after
   * the other, because each would count its space.
   *
   * @param work returns the space that it has freed
   */
  freeing(row: LimitedRow, inode: bigint, work: () => Promise<Amount>): Promise<void>
  /** Undoes the record of bytes that were not written after all. */
  giveBack(row: LimitedRow, rest: Amount): Promise<void>
  /** For many small writes to one folder. */
  meter(row: LimitedRow): Meter
  /** Lets the file system enforce the present limits. Does not throw: a limit that cannot be set is checked by Berth only. */
  enforce(id: FolderId): Promise<void>
  /**
   * Like `enforce`, for all folders whose limits differ from those that their file systems enforce, e.g. after a change of a resource
   * policy. It runs in the background; disposing waits for it.
   */
  enforceAll(): void
}

/** A recorded upload. */
export interface StagedUpload {
  readonly bytes: number
  /** Bytes of the file that it replaces. */
  readonly replaced: number
  readonly freed: (countedAt: Date) => Promise<number>
}

export type LimitedRow = Pick<FolderRow, 'id' | 'max_bytes' | 'owner_max_bytes' | 'max_files' | 'owner_max_files'>

/** Reserves space in large steps. Disposing releases the unused rest. */
export interface Meter extends AsyncDisposable {
  /** @param freed as for `FolderQuotas.require` @throws as `FolderQuotas.take` */
  take(more: Amount, freed?: Amount): Promise<void>
}

const STEP = amount(8 * 2 ** 20, 100)

export interface FolderQuotasDeps {
  readonly store: Pick<Store, 'db' | 'transaction'>
  readonly storage: Pick<StorageHosts, 'limit'>
  readonly usages: Pick<FolderUsages, 'check' | 'again' | 'wrote'>
  readonly log: Log
}

const withFreed = (sizes: FolderSizes, bytes: number): FolderSizes => ({
  ...sizes,
  staged: sizes.staged - bytes,
  owned_staged: sizes.owned_staged - bytes,
})

export function createFolderQuotas({ store, storage, usages, log }: FolderQuotasDeps): FolderQuotas {
  const { db } = store
  const frees = createKeyedMutex()
  const require = (row: LimitedRow, more: Amount, freed = NOTHING): Promise<void> =>
    judge(row, sizes => sizeFault(without(sizes, freed), more))

  /** @param freed bytes that staged uploads will free in the folder and that the count includes */
  async function judge(
    row: LimitedRow,
    faultOf: (sizes: FolderSizes) => AppError | undefined,
    freed?: (countedAt: Date) => Promise<number>,
  ): Promise<void> {
    if (!isLimited(row)) return
    const sizes = await readSizes(db, row.id)
    if (!sizes) return
    // Pass the sizes just read, not `row`: callers keep a row for a while, so it may miss later counts.
    usages.check([sizes])
    if (sizes.bytes !== null && !faultOf(sizes)) return
    // Files may have been deleted since the last count.
    const isAlone = row.owner_max_bytes === null && row.owner_max_files === null
    await usages.again(isAlone ? [sizes] : await listOfSameOwner(db, row.id))
    const counted = await readSizes(db, row.id)
    if (!counted || !faultOf(counted)) return
    const { measured_at, took_ms } = counted
    const countedAt = measured_at && new Date(measured_at.getTime() - (took_ms ?? 0))
    const fault = faultOf(withFreed(counted, (countedAt && (await freed?.(countedAt))) ?? 0))
    if (fault) throw fault
  }

  const isSome = ({ bytes, files }: Amount) => bytes !== 0 || files !== 0

  async function take(row: LimitedRow, more: Amount, freed = NOTHING): Promise<void> {
    await require(row, more, freed)
    usages.wrote(row.id)
    if (!isLimited(row) || !isSome(more)) return
    await store.transaction(async trx => {
      await lockUsage(trx, row.id)
      // Another write may have taken the space since it was checked.
      const sizes = await readSizes(trx, row.id)
      const fault = sizes && sizeFault(without(sizes, freed), more)
      if (fault) throw fault
      await addUsage(trx, row.id, more)
    })
  }

  async function giveBack(row: LimitedRow, rest: Amount): Promise<void> {
    if (isLimited(row) && isSome(rest)) await addUsage(db, row.id, amount(-rest.bytes, -rest.files))
  }

  async function enforce(id: FolderId): Promise<void> {
    try {
      const sizes = await readSizes(db, id)
      if (!sizes) return
      const wanted = enforceable(sizes)
      if (wanted.bytes === sizes.enforced_bytes && wanted.files === sizes.enforced_files) return
      const why = await storage.limit(sizes.storage_host, id, wanted)
      if (why.bytes !== undefined || why.files !== undefined)
        log.debug({ folderId: id, why }, 'the file system does not enforce the limits of a folder')
      await saveEnforced(db, id, {
        bytes: why.bytes === undefined ? wanted.bytes : null,
        files: why.files === undefined ? wanted.files : null,
      })
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
    requireStaged: (row, { bytes, replaced, freed }) => judge(row, sizes => stagedFault(sizes, bytes, replaced), freed),
    take,
    giveBack,
    freeing: (row, inode, work) =>
      frees(`${row.id}/${inode}`, async () => {
        await giveBack(row, await work())
        usages.wrote(row.id)
      }),
    enforce,
    enforceAll() {
      enforcing = enforcing.then(enforceEach)
    },
    async [Symbol.asyncDispose]() {
      isClosing = true
      await enforcing
    },
    meter(row) {
      let held = NOTHING
      const lacks = ({ bytes, files }: Amount) =>
        amount(Math.max(0, bytes - held.bytes), Math.max(0, files - held.files))
      const more = async (lacking: Amount, freed?: Amount) => {
        const step = amount(
          lacking.bytes > 0 ? Math.max(lacking.bytes, STEP.bytes) : 0,
          lacking.files > 0 ? Math.max(lacking.files, STEP.files) : 0,
        )
        const isWide = await take(row, step, freed).then(
          () => true,
          () => false,
        )
        if (!isWide) await take(row, lacking, freed)
        const { bytes, files } = isWide ? step : lacking
        held = amount(held.bytes + bytes, held.files + files)
      }
      let turn = Promise.resolve()
      return {
        take(wanted, freed) {
          usages.wrote(row.id)
          if (!isLimited(row)) return Promise.resolve()
          // Each call waits for the one before: otherwise concurrent writes would each take a step.
          const mine = turn.then(async () => {
            const lacking = lacks(wanted)
            if (isSome(lacking)) await more(lacking, freed)
            held = amount(held.bytes - wanted.bytes, held.files - wanted.files)
          })
          turn = mine.catch(() => undefined) // the writer gets the error
          return mine
        },
        async [Symbol.asyncDispose]() {
          await turn
          await giveBack(row, held)
          held = NOTHING
        },
      }
    },
  }
}
