import { AppError, because, type FolderId, UploadId } from '#manager/contract'
import { pathThere } from '../files/names-there.ts'
import { amount } from '../folders/size-rules.ts'
import { renamedError } from '../storage/file-errors.ts'
import { newId } from '../store/new-id.ts'
import { insertUpload, type UploadRow } from '../store/storage/uploads.ts'
import { type Caller } from '../users/authorize.ts'
import { countMissing } from './count-missing.ts'
import { type UploadsDeps } from './deps.ts'
import { type Finishing } from './finish.ts'
import { removePart } from './parts.ts'
import { requireFree } from './place.ts'
import { requireStaged } from './staged.ts'
import { type UploadSpec } from './read-metadata.ts'
import { replacedBytes } from './writable-folder.ts'

export const WEEK_SECONDS = 7 * 24 * 3600
/** Most unfinished uploads of one user. */
const MOST = 1_000

export interface NewUpload {
  readonly caller: Caller
  readonly folderId: FolderId
  readonly spec: UploadSpec & { readonly size: number }
}

/** Reserves the space of an upload, and creates its empty file and its row. @throws as `Uploads.create`, except for its bytes */
export async function startUpload(
  { store, parts, openFolder }: UploadsDeps,
  finishing: Pick<Finishing, 'discard'>,
  { caller, folderId, spec }: NewUpload,
): Promise<UploadRow> {
  const { path, onConflict, sha256, modifiedAt, executable, ownerOnly, finishLater, size } = spec
  const folder = await openFolder(caller, folderId)
  let replaced = 0
  {
    await using top = await folder.open()
    const there = { path: await pathThere(top, path), onConflict }
    replaced = await replacedBytes(folder, top, there)
    await folder.requireSpace(amount(size - replaced, await countMissing(top, [there.path])))
    await requireFree(top, there)
  }
  await parts.requireSpace(folder.storageHost, size)
  const id = newId(UploadId)
  await using directory = await parts.open(folder.storageHost, caller.userId)
  // Create the file first: a file without a row is removed later, but a row without a file would look like a finished upload.
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
  await requireStaged(store, folder, row, replaced).catch(async (error: unknown) => {
    await finishing.discard(id, directory)
    throw error
  })
  return row
}
