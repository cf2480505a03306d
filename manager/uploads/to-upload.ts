import { type Upload } from '#manager/contract'
import { type UploadRow } from '../store/storage/uploads.ts'

/** An upload as its owner sees it. @param offset bytes that have arrived */
export function toUpload(row: UploadRow, offset: number): Upload {
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
