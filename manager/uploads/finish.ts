import { AppError, because, type Upload, type UploadFinish } from '#manager/contract'
import { pathThere } from '../files/names-there.ts'
import { amount } from '../folders/size-rules.ts'
import { deleteUpload, markFinished, renameUpload, type UploadRow } from '../store/storage/uploads.ts'
import { type Caller } from '../users/authorize.ts'
import { type Directory } from '../storage/beneath.ts'
import { type UploadsDeps } from './deps.ts'
import { countMissing } from './count-missing.ts'
import { type UploadHashes } from './hashes.ts'
import { type OpenPart } from './open-part.ts'
import { removePart } from './parts.ts'
import { place } from './place.ts'
import { toUpload } from './to-upload.ts'
import { replacedBytes } from './writable-folder.ts'

/** A finished upload is kept for clients that did not receive the last answer. */
const DAY_SECONDS = 24 * 3600

/** Ends of uploads: completed in their folder, or discarded. */
export interface Finishing {
  /**
   * Checks the file, and moves it into the folder.
   *
   * @throws AppError `upload_damaged`, `file_exists`; as `openFolder` and `WritableFolder.reserve`
   */
  complete(caller: Caller, part: OpenPart, finish: UploadFinish): Promise<Upload>
  /** Records that the file is in the folder. @param path its path there */
  finished(caller: Caller, row: UploadRow, path: string): Promise<Upload>
  /** Removes the upload and its file. */
  discard(id: UploadRow['id'], directory: Directory): Promise<void>
}

export function createFinishing(
  { store: { db }, openFolder, onPlaced }: Pick<UploadsDeps, 'store' | 'openFolder' | 'onPlaced'>,
  hashes: UploadHashes,
): Finishing {
  async function finished(caller: Caller, row: UploadRow, path: string): Promise<Upload> {
    await markFinished(db, row.id, { path, livesSeconds: DAY_SECONDS })
    hashes.drop(row.id)
    onPlaced(caller, row.folder_id, path)
    return { ...toUpload(row, row.size), path, finished: true }
  }

  async function discard(id: UploadRow['id'], directory: Directory): Promise<void> {
    await deleteUpload(db, id)
    hashes.drop(id)
    await removePart(directory, id)
  }

  /** @throws AppError `upload_damaged` */
  async function verify(part: OpenPart, sha256: string): Promise<void> {
    if ((await hashes.digest(part)) === sha256) return
    const { path, id } = part.row
    await discard(id, part.directory)
    throw new AppError('upload_damaged', { path, ...because('upload_other_hash', { path }) })
  }

  return {
    finished,
    discard,

    async complete(caller, part, { sha256, onConflict }) {
      const { row, lease } = part
      lease.settle()
      const wanted = sha256 ?? row.sha256
      if (wanted !== null) await verify(part, wanted)
      lease.signal.throwIfAborted()
      // Checked again, because hours may have passed.
      const folder = await openFolder(caller, row.folder_id)
      await using top = await folder.open()
      const there = await pathThere(top, row.path)
      const replaced = await replacedBytes(folder, top, { path: there, onConflict: onConflict ?? row.on_conflict })
      await folder.reserve(amount(row.size - replaced, await countMissing(top, [there])))
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
    },
  }
}
