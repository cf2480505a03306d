import { createHash, type Hash } from 'node:crypto'
import { type Readable } from 'node:stream'
import {
  AppError,
  because,
  type FileConflict,
  type FolderId,
  type Upload,
  type UploadFinish,
  UploadId,
} from '#manager/contract'
import { isCode } from '../files/places.ts'
import { pathThere } from '../files/names-there.ts'
import { replacedSize } from '../files/replaced-size.ts'
import { type StagedUpload } from '../folders/room.ts'
import { type Amount, amount } from '../folders/size-rules.ts'
import { type Directory } from '../storage/beneath.ts'
import { renamedError } from '../storage/file-errors.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { countMissing } from './count-missing.ts'
import { freedBytes } from './freed-bytes.ts'
import { newId } from '../store/new-id.ts'
import { type Store } from '../store/open-store.ts'
import { listReplacing } from '../store/storage/folder-usage.ts'
import {
  deleteUpload,
  findToEnd,
  findUpload,
  insertUpload,
  listUnfinished,
  listUnfinishedOfOthers,
  markFinished,
  MOVING_MINUTES,
  noteReceived,
  renameUpload,
  saveMoved,
  type UploadRow,
} from '../store/storage/uploads.ts'
import { type Caller } from '../users/authorize.ts'
import { createHolds, type Hold } from './holds.ts'
import { type Parts, removePart, statePart } from './parts.ts'
import { place, requireFree } from './place.ts'
import { type UploadSpec } from './read-metadata.ts'
import { hasBytes, writePart } from './write-part.ts'

const WEEK_SECONDS = 7 * 24 * 3600
/** A finished upload is remembered for a client that has not received the last answer. */
const DAY_SECONDS = 24 * 3600
/** Unfinished uploads of one user. */
const MOST = 1_000
/** Hashes that are kept to be continued; others are computed again from the file. */
const MOST_HASHES = 1_000

/** An upload by its address. */
export interface UploadAddress {
  readonly folderId: FolderId
  readonly id: UploadId
}

/**
 * Resumable uploads into folders. The bytes are collected in a file outside the folder, on the same storage host; the last step
 * links or renames it into the folder, so no half-written file is ever seen there.
 *
 * The offset of an upload is the size of that file. The data is on the disk before an offset is told to the client and before
 * the file is put in its place. The sign-in and the right to write to the folder are checked with every request, every few seconds while
 * bytes arrive in a long one, and before the last step.
 *
 * Threat model: the directory of these files belongs to the manager and no session sees it; its names are ids. A path comes
 * from the client and is walked by descriptors (`storage/`). Another user's upload is `upload_not_found`, except to be ended by
 * whoever manages the folder: unfinished uploads hold its room. Those of people who have lost the right to it hold none.
 */
export interface Uploads {
  /** Checks that the caller may upload into the folder. @throws AppError `folder_not_found`, `forbidden` */
  requireWritable(caller: Caller, folderId: FolderId): Promise<void>
  /** @throws AppError `folder_not_found`, `forbidden` */
  list(caller: Caller, folderId: FolderId): Promise<Upload[]>
  /** Unfinished uploads of everybody else who may write to a folder that the caller manages. @throws AppError `folder_not_found`, `forbidden` */
  listOthers(caller: Caller, folderId: FolderId): Promise<Upload[]>
  /**
   * @param body the first bytes
   * @throws AppError `folder_not_found`, `forbidden`, `over_upload_limit`, `quota_folder_full`,
   *   `quota_total_full`, `file_exists`, `disk_full`, `storage_away`; for the
   *   bytes as `append`
   */
  create(caller: Caller, folderId: FolderId, request: NewUploadRequest): Promise<Upload>
  /** @throws AppError `folder_not_found`, `upload_not_found` */
  read(caller: Caller, address: UploadAddress): Promise<Upload>
  /**
   * Writes a body at the end of the upload, and finishes it with the last byte unless it is finished later.
   *
   * @throws AppError `upload_not_found`, `upload_locked`, `upload_offset`, `upload_stalled`, `disk_full`, `bad_request`; for
   *   the last byte as `finish`
   */
  append(
    caller: Caller,
    address: UploadAddress,
    request: { readonly offset: number; readonly body: Readable },
  ): Promise<Upload>
  /**
   * Puts a complete upload into the folder. Safe to repeat.
   *
   * @throws AppError `upload_not_found`, `upload_incomplete`, `upload_damaged`, `upload_locked`, `file_exists`
   */
  finish(caller: Caller, address: UploadAddress, request: UploadFinish): Promise<Upload>
  /**
   * Ends an own upload, whatever the right to the folder, or that of somebody else into a folder that the caller manages.
   *
   * @throws AppError `upload_not_found`; `upload_locked` for an own one that is being written
   */
  cancel(caller: Caller, address: UploadAddress): Promise<void>
}

export interface NewUploadRequest extends UploadSpec {
  readonly size: number
  readonly body: Readable | undefined
}

/** A folder that the caller may write to. */
export interface WritableFolder {
  readonly storageHost: string
  /** Whether the number of its files is limited. */
  readonly limitsFiles: boolean
  /** Whether its size is limited. */
  readonly limitsBytes: boolean
  readonly name: string
  /** @throws AppError `quota_folder_full`, `quota_folder_files`, `quota_total_full`, `quota_total_files` */
  requireRoom(more: Amount): Promise<void>
  /** Checks the room for an upload that is on record, beside all others. @throws as `requireRoom` */
  requireStaged(upload: StagedUpload): Promise<void>
  /** Takes room for what is put into the folder now. @throws as `requireRoom` */
  takeRoom(more: Amount): Promise<void>
  /** Opens its top. @throws AppError `storage_away` */
  open(): Promise<Directory>
}

export interface UploadsDeps {
  readonly store: Store
  readonly parts: Parts
  /** Checks that the caller is still signed in and may write now. @throws AppError `not_signed_in`, `folder_not_found`, `forbidden` */
  readonly openFolder: (caller: Caller, folderId: FolderId) => Promise<WritableFolder>
  /** Watches that it stays so. @param cut called once with the error of `openFolder` */
  readonly watch: (caller: Caller, folderId: FolderId, cut: (refusal: Error) => void) => Disposable
  /** Checks that the caller manages the folder. @throws AppError `folder_not_found`, `forbidden` */
  readonly requireManaged: (caller: Caller, folderId: FolderId) => Promise<void>
  readonly onPlaced: (caller: Caller, folderId: FolderId, path: string) => void
}

export function createUploads({ store, parts, openFolder, requireManaged, onPlaced }: UploadsDeps): Uploads {
  const { db } = store
  const holds = createHolds({ db, livesSeconds: WEEK_SECONDS })
  /** Hashes of the bytes so far, in the order of their last use. */
  const hashes = new Map<UploadId, { readonly hash: Hash; upTo: number }>()

  /** @throws AppError `upload_not_found` */
  async function find(caller: Caller, { id, folderId }: UploadAddress): Promise<UploadRow> {
    const row = await findUpload(db, id, folderId, caller.userId)
    if (row) return row
    throw noSuchUpload()
  }

  /** Another user's upload is not found, except for whoever manages its folder. @throws AppError `upload_not_found`; as `openFolder` */
  async function findToCancel(caller: Caller, { id, folderId }: UploadAddress) {
    const found = await findToEnd(db, id, folderId)
    const isOwn = found?.user_id === caller.userId
    if (!found || !(isOwn || (await isManaged(caller, folderId)))) {
      await openFolder(caller, folderId)
      throw noSuchUpload()
    }
    return { isOwn, storageHost: found.storage_host }
  }

  const isManaged = (caller: Caller, folderId: FolderId) =>
    requireManaged(caller, folderId).then(
      () => true,
      (error: unknown) => {
        if (isCode(error, 'folder_not_found') || isCode(error, 'forbidden')) return false
        throw error
      },
    )

  /** Runs work on an upload that nobody else works on, with its file open. */
  async function withPart<T>(
    caller: Caller,
    address: UploadAddress,
    work: (part: OpenPart) => Promise<T>,
  ): Promise<T | Upload> {
    const check = async () => {
      await openFolder(caller, address.folderId)
      await find(caller, address)
    }
    await check()
    return holds.hold(address.id, check, async hold => {
      const { storageHost } = await openFolder(caller, address.folderId)
      const row = await find(caller, address)
      if (row.finished) return toUpload(row, row.size)
      await using directory = await parts.open(storageHost, caller.userId)
      if (await isPlaced(directory, row.id)) return await finished(caller, row, row.path)
      await using file = await directory.open(row.id, 'write')
      return await work({ row, file, directory, hold, offset: (await file.state()).size }).catch((error: unknown) => {
        throw renamedError(error, row.id, row.path)
      })
    })
  }

  async function finished(caller: Caller, row: UploadRow, path: string): Promise<Upload> {
    await markFinished(db, row.id, { path, livesSeconds: DAY_SECONDS })
    hashes.delete(row.id)
    onPlaced(caller, row.folder_id, path)
    return { ...toUpload(row, row.size), path, finished: true }
  }

  async function receive({ row, file, hold }: OpenPart, offset: number, body: Readable): Promise<number> {
    const wantsHash = row.sha256 !== null || row.finish_later
    const known = hashes.get(row.id)
    hashes.delete(row.id)
    const running = offset === 0 ? { hash: createHash('sha256'), upTo: 0 } : known?.upTo === offset ? known : undefined
    try {
      return await writePart(body, {
        file,
        offset,
        size: row.size,
        signal: hold.signal,
        onArrived: () => hold.arrived(),
        onWritten: bytes => {
          if (!wantsHash || !running) return
          running.hash.update(bytes)
          running.upTo += bytes.length
        },
      })
    } finally {
      if (wantsHash && running) keepHash(row.id, running)
      await file.sync()
    }
  }

  /** Receives bytes, and notes how many there are also where the body ends too early: what is on the storage holds room. */
  async function receiveNoted(part: OpenPart, offset: number, body: Readable): Promise<number> {
    const note = (bytes: number) => noteReceived(db, part.row.id, bytes)
    const end = await receive(part, offset, body).catch(async (error: unknown) => {
      const noted = part.file.state().then(({ size }) => note(size))
      await noted.catch(() => undefined) // the first error is the one to report
      throw error
    })
    await note(end)
    return end
  }

  /** @throws as `WritableFolder.requireStaged` */
  function requireStaged(folder: WritableFolder, { id, folder_id, path, size }: UploadRow, replaced: number) {
    const freed = async (countedAt: Date) => {
      await using top = await folder.open()
      return await freedBytes(top, await listReplacing(db, folder_id, id), { own: path, countedAt })
    }
    return folder.requireStaged({ bytes: size, replaced, freed })
  }

  const isSilent = ({ moved_at }: UploadRow) => store.now() - moved_at.getTime() > MOVING_MINUTES * 60_000

  /**
   * Has an upload that continues after a long time hold its whole size again, as if it began now: others may have taken its room.
   *
   * @throws as `create`
   */
  async function moveAgain(caller: Caller, { row, offset }: OpenPart): Promise<void> {
    const folder = await openFolder(caller, row.folder_id)
    await parts.requireSpace(folder.storageHost, row.size - offset)
    await using top = await folder.open()
    const path = await pathThere(top, row.path)
    const replaced = await replacedBytes(folder, top, { path, onConflict: row.on_conflict })
    // First it counts: two that continue at once must not share the last room.
    await saveMoved(db, row.id, 'now')
    await requireStaged(folder, row, replaced).catch(async (error: unknown) => {
      await saveMoved(db, row.id, row.moved_at)
      throw error
    })
  }

  /** Waits for the first byte, and has an upload that was silent until then hold its room again. @throws as `moveAgain`, `hasBytes` */
  async function requireHeld(caller: Caller, part: OpenPart, body: Readable): Promise<void> {
    try {
      // The wait comes first: the room may become free meanwhile, and another upload may take it.
      if ((await hasBytes(body, part.hold.signal)) && isSilent(part.row)) await moveAgain(caller, part)
    } catch (error) {
      // Node discards only bodies that nobody looked at: the next request of the connection would wait behind this one.
      body.on('error', () => undefined).resume()
      throw error
    }
  }

  function keepHash(id: UploadId, running: { readonly hash: Hash; upTo: number }): void {
    const [oldest] = hashes.keys()
    if (hashes.size >= MOST_HASHES && oldest !== undefined) hashes.delete(oldest)
    hashes.set(id, running)
  }

  /** @throws AppError `upload_damaged` */
  async function verify({ row, file, directory, hold }: OpenPart, sha256: string): Promise<void> {
    const running = hashes.get(row.id)
    const digest = running?.upTo === row.size ? running.hash.copy() : await hashOf(file, hold.signal)
    if (digest.digest('hex') === sha256) return
    await discard(row.id, directory)
    const { path } = row
    throw new AppError('upload_damaged', { path, ...because('upload_other_hash', { path }) })
  }

  async function discard(id: UploadId, directory: Directory): Promise<void> {
    await deleteUpload(db, id)
    hashes.delete(id)
    await removePart(directory, id)
  }

  async function complete(caller: Caller, part: OpenPart, { sha256, onConflict }: UploadFinish): Promise<Upload> {
    const { row, hold } = part
    hold.settle()
    const wanted = sha256 ?? row.sha256
    if (wanted !== null) await verify(part, wanted)
    hold.signal.throwIfAborted()
    // Checked again: hours may have passed.
    const folder = await openFolder(caller, row.folder_id)
    await using top = await folder.open()
    const there = await pathThere(top, row.path)
    const replaced = await replacedBytes(folder, top, { path: there, onConflict: onConflict ?? row.on_conflict })
    await folder.takeRoom(amount(row.size - replaced, await countMissing(top, [there])))
    const placement = {
      path: row.path,
      onConflict: onConflict ?? row.on_conflict,
      modifiedAt: row.modified_at,
      executable: row.executable ?? undefined,
      ownerOnly: row.owner_only,
    }
    const path = await place({ top, folder: folder.name }, { id: row.id, ...part }, placement, numbered =>
      renameUpload(db, row.id, numbered),
    )
    return await finished(caller, row, path)
  }

  async function append(
    caller: Caller,
    address: UploadAddress,
    { offset, body }: { readonly offset: number; readonly body: Readable | undefined },
  ): Promise<Upload> {
    return withPart(caller, address, async part => {
      const { row } = part
      if (offset !== part.offset) {
        const why = because('upload_continues_at', { at: part.offset, from: offset })
        throw new AppError('upload_offset', { offset: part.offset, ...why })
      }
      if (body) await requireHeld(caller, part, body)
      const end = body ? await receiveNoted(part, offset, body) : offset
      if (end < row.size || row.finish_later) return toUpload(row, end)
      return complete(caller, part, {})
    })
  }

  return {
    async requireWritable(caller, folderId) {
      await openFolder(caller, folderId)
    },

    async list(caller, folderId) {
      const { storageHost } = await openFolder(caller, folderId)
      await using directory = await parts.open(storageHost, caller.userId)
      const rows = await listUnfinished(db, folderId, caller.userId)
      return await Promise.all(rows.map(async row => toUpload(row, await offsetOf(directory, row))))
    },

    async listOthers(caller, folderId) {
      await requireManaged(caller, folderId)
      const rows = await listUnfinishedOfOthers(db, folderId, caller.userId)
      return rows.map(row => ({ ...toUpload(row, row.received), by: { email: row.email, name: row.name } }))
    },

    async create(
      caller,
      folderId,
      { path, onConflict, sha256, modifiedAt, executable, ownerOnly, finishLater, size, body },
    ) {
      const folder = await openFolder(caller, folderId)
      let replaced = 0
      {
        await using top = await folder.open()
        const there = { path: await pathThere(top, path), onConflict }
        replaced = await replacedBytes(folder, top, there)
        await folder.requireRoom(amount(size - replaced, await countMissing(top, [there.path])))
        await requireFree(top, there)
      }
      await parts.requireSpace(folder.storageHost, size)
      const id = newId(UploadId)
      await using directory = await parts.open(folder.storageHost, caller.userId)
      // First the file: one without a row is removed later, and a row without a file would be taken for a finished upload.
      await using file = await directory.createPrivate(id).catch((error: unknown) => {
        throw renamedError(error, id, path)
      })
      await file.close()
      const row = await store.transaction(trx =>
        insertUpload(
          trx,
          {
            id,
            folder_id: folderId,
            user_id: caller.userId,
            path,
            size,
            on_conflict: onConflict,
            sha256: sha256 ?? null,
            finish_later: finishLater,
            modified_at: modifiedAt ?? null,
            executable: executable ?? null,
            owner_only: ownerOnly,
          },
          { most: MOST, livesSeconds: WEEK_SECONDS },
        ),
      )
      if (!row) {
        await removePart(directory, id)
        throw new AppError('over_upload_limit', { limit: MOST, ...because('uploads_at_most', { limit: MOST }) })
      }
      await requireStaged(folder, row, replaced).catch(async (error: unknown) => {
        await discard(id, directory)
        throw error
      })
      if (!body && size > 0) return toUpload(row, 0)
      return await append(caller, { folderId, id }, { offset: 0, body })
    },

    async read(caller, address) {
      const { storageHost } = await openFolder(caller, address.folderId)
      const row = await find(caller, address)
      if (row.finished) return toUpload(row, row.size)
      await using directory = await parts.open(storageHost, caller.userId)
      return toUpload(row, await offsetOf(directory, row))
    },

    append,

    async finish(caller, address, request) {
      return withPart(caller, address, part => {
        const { row, offset } = part
        if (offset === row.size) return complete(caller, part, request)
        const { size } = row
        throw new AppError('upload_incomplete', { offset, size, ...because('upload_incomplete_yet', { offset, size }) })
      })
    },

    async cancel(caller, address) {
      const { isOwn, storageHost } = await findToCancel(caller, address)
      const end = async () => {
        await using directory = await parts.open(storageHost, caller.userId)
        await discard(address.id, directory)
      }
      // A writer looks for the row every few seconds, and ends without it: nobody keeps a manager of the folder waiting by going on.
      if (!isOwn) await end()
      else await holds.hold(address.id, () => Promise.resolve(), end)
    },
  }
}

interface OpenPart {
  readonly row: UploadRow
  readonly file: OpenFile
  /** Directory of the file. */
  readonly directory: Directory
  readonly hold: Hold
  /** Bytes that have arrived. */
  readonly offset: number
}

/** Whether the file is in the folder already: the manager ended before it wrote that down. */
async function isPlaced(directory: Directory, id: UploadId): Promise<boolean> {
  const part = await statePart(directory, id)
  if (part && part.links > 1) await removePart(directory, id)
  return !part || part.links > 1
}

async function offsetOf(directory: Directory, { id, size }: UploadRow): Promise<number> {
  return (await statePart(directory, id))?.size ?? size
}

/** Bytes of the file that an upload replaces, where they matter. */
async function replacedBytes(
  folder: WritableFolder,
  top: Directory,
  { path, onConflict }: { readonly path: string; readonly onConflict: FileConflict },
): Promise<number> {
  return onConflict === 'replace' && folder.limitsBytes ? replacedSize(top, path) : 0
}

const HASHED_AT_ONCE = 1024 * 1024

async function hashOf(file: OpenFile, signal: AbortSignal): Promise<Hash> {
  const hash = createHash('sha256')
  const chunk = Buffer.allocUnsafe(HASHED_AT_ONCE)
  for (let position = 0; ;) {
    signal.throwIfAborted()
    const count = await file.read(chunk, position)
    if (count === 0) return hash
    hash.update(chunk.subarray(0, count))
    position += count
  }
}

const noSuchUpload = () => new AppError('upload_not_found', because('upload_gone'))

function toUpload(row: UploadRow, offset: number): Upload {
  return {
    id: row.id,
    folderId: row.folder_id,
    path: row.path,
    size: row.size,
    offset,
    onConflict: row.on_conflict,
    finished: row.finished,
    by: null,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  }
}
