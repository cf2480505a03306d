import { type FileConflict } from '#manager/contract'
import { replacedSize } from '../files/replaced-size.ts'
import { type StagedUpload } from '../folders/folder-quotas.ts'
import { type Amount } from '../folders/size-rules.ts'
import { type Directory } from '../storage/beneath.ts'

/** A folder that the caller may write to. */
export interface WritableFolder {
  readonly storageHost: string
  /** Whether the number of its files is limited. */
  readonly limitsFiles: boolean
  /** Whether its size is limited. */
  readonly limitsBytes: boolean
  readonly name: string
  /** @throws AppError `quota_folder_full`, `quota_folder_files`, `quota_total_full`, `quota_total_files` */
  requireSpace(more: Amount): Promise<void>
  /** Checks the space for an upload that is on record, together with all others. @throws as `requireSpace` */
  requireStaged(upload: StagedUpload): Promise<void>
  /** Reserves space for files that are put into the folder now. @throws as `requireSpace` */
  reserve(more: Amount): Promise<void>
  /** Opens its top. @throws AppError `storage_away` */
  open(): Promise<Directory>
}

/** Bytes of the file that an upload replaces, if they count. */
export async function replacedBytes(
  folder: WritableFolder,
  top: Directory,
  { path, onConflict }: { readonly path: string; readonly onConflict: FileConflict },
): Promise<number> {
  return onConflict === 'replace' && folder.limitsBytes ? replacedSize(top, path) : 0
}
