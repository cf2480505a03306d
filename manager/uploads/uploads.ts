import { type Readable } from 'node:stream'
import { AppError, because, type FolderId, type Upload, type UploadFinish, type UploadId } from '#manager/contract'
import { isCode } from '../files/places.ts'
import { renamedError } from '../storage/file-errors.ts'
import {
  findToEnd,
  findUpload,
  listUnfinished,
  listUnfinishedOfOthers,
  type UploadRow,
} from '../store/storage/uploads.ts'
import { type Caller } from '../users/authorize.ts'
import { type UploadsDeps } from './deps.ts'
import { createFinishing } from './finish.ts'
import { startUpload, WEEK_SECONDS } from './start-upload.ts'
import { createUploadHashes } from './hashes.ts'
import { createWriteLeases } from './write-leases.ts'
import { isPlaced, offsetOf, type OpenPart } from './open-part.ts'
import { type UploadSpec } from './read-metadata.ts'
import { receive } from './receive.ts'
import { requireHeld } from './staged.ts'
import { toUpload } from './to-upload.ts'

/** Identifies an upload. */
export interface UploadAddress {
  readonly folderId: FolderId
  readonly id: UploadId
}

/**
 * Resumable uploads into folders. The bytes are collected in a file outside the folder, on the same storage host; the last step links or
 * renames it into the folder, so no half-written file is ever seen there.
 *
 * The offset of an upload is the size of that file. The data is on the disk before the client gets an offset, and before the file is moved
 * into the folder. The sign-in and the right to write to the folder are checked with every request, every few seconds while bytes arrive in
 * a long one, and before the last step.
 *
 * Threat model: the directory of these files belongs to the manager and no session sees it; its names are ids. A path comes from the client
 * and is walked by descriptors (`storage/`). Another user's upload is `upload_not_found`, but whoever manages the folder can cancel it,
 * because unfinished uploads reserve space in it. Uploads of people who have lost the right to the folder reserve none.
 */
export interface Uploads {
  /** Checks that the caller may upload into the folder. @throws AppError `folder_not_found`, `forbidden` */
  requireWritable(caller: Caller, folderId: FolderId): Promise<void>
  /** @throws AppError `folder_not_found`, `forbidden` */
  list(caller: Caller, folderId: FolderId): Promise<Upload[]>
  /**
   * Unfinished uploads of all other users who may write to a folder that the caller manages. @throws AppError `folder_not_found`,
   * `forbidden`
   */
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
   * Appends a body to the upload, and finishes the upload with its last byte unless `finish` will be called.
   *
   * @throws AppError `upload_not_found`, `upload_locked`, `upload_offset`, `upload_stalled`, `disk_full`, `bad_request`; for the last byte
   *   as `finish`
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
   * Cancels an own upload, regardless of the right to the folder, or another user's upload into a folder that the caller manages. @throws
   * AppError `upload_not_found`; `upload_locked` for an own upload that is being written
   */
  cancel(caller: Caller, address: UploadAddress): Promise<void>
}

export interface NewUploadRequest extends UploadSpec {
  readonly size: number
  readonly body: Readable | undefined
}

export function createUploads(deps: UploadsDeps): Uploads {
  const { store, parts, openFolder, requireManaged } = deps
  const { db } = store
  const leases = createWriteLeases({ db, livesSeconds: WEEK_SECONDS })
  const hashes = createUploadHashes()
  const finishing = createFinishing(deps, hashes)

  /** @throws AppError `upload_not_found` */
  async function find(caller: Caller, { id, folderId }: UploadAddress): Promise<UploadRow> {
    const row = await findUpload(db, id, folderId, caller.userId)
    if (row) return row
    throw noSuchUpload()
  }

  /**
   * Another user's upload counts as not found, except for callers who manage its folder. @throws AppError `upload_not_found`; as
   * `openFolder`
   */
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

  /** Opens the file of an upload and runs work on it, while no other request works on the upload. */
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
    return leases.withLease(address.id, check, async lease => {
      const { storageHost } = await openFolder(caller, address.folderId)
      const row = await find(caller, address)
      if (row.finished) return toUpload(row, row.size)
      await using directory = await parts.open(storageHost, caller.userId)
      if (await isPlaced(directory, row.id)) return await finishing.finished(caller, row, row.path)
      await using file = await directory.open(row.id, 'write')
      return await work({ row, file, directory, lease, offset: (await file.state()).size }).catch((error: unknown) => {
        throw renamedError(error, row.id, row.path)
      })
    })
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
      if (body) await requireHeld(deps, caller, part, body)
      const end = body ? await receive({ db, hashes }, part, offset, body) : offset
      if (end < row.size || row.finish_later) return toUpload(row, end)
      return finishing.complete(caller, part, {})
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

    async create(caller, folderId, { body, ...spec }) {
      const row = await startUpload(deps, finishing, { caller, folderId, spec })
      if (!body && spec.size > 0) return toUpload(row, 0)
      return await append(caller, { folderId, id: row.id }, { offset: 0, body })
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
        if (offset === row.size) return finishing.complete(caller, part, request)
        const { size } = row
        throw new AppError('upload_incomplete', { offset, size, ...because('upload_incomplete_yet', { offset, size }) })
      })
    },

    async cancel(caller, address) {
      const { isOwn, storageHost } = await findToCancel(caller, address)
      const end = async () => {
        await using directory = await parts.open(storageHost, caller.userId)
        await finishing.discard(address.id, directory)
      }
      // A writer looks for the row every few seconds and ends without it, so a manager of the folder need not wait for the writer.
      if (!isOwn) await end()
      else await leases.withLease(address.id, () => Promise.resolve(), end)
    },
  }
}

const noSuchUpload = () => new AppError('upload_not_found', because('upload_gone'))
