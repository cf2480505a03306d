import { type FolderId } from '#manager/contract'
import { type Store } from '../store/open-store.ts'
import { type Caller } from '../users/authorize.ts'
import { type Parts } from './parts.ts'
import { type WritableFolder } from './writable-folder.ts'

/** Functions of other parts of the manager that uploads and bundles need. */
export interface UploadsDeps {
  readonly store: Store
  readonly parts: Parts
  /** Checks that the caller is still signed in and may write now. @throws AppError `not_signed_in`, `folder_not_found`, `forbidden` */
  readonly openFolder: (caller: Caller, folderId: FolderId) => Promise<WritableFolder>
  /** Watches whether the caller may still write. @param cut called once with the error of `openFolder` */
  readonly watch: (caller: Caller, folderId: FolderId, cut: (refusal: Error) => void) => Disposable
  /** Checks that the caller manages the folder. @throws AppError `folder_not_found`, `forbidden` */
  readonly requireManaged: (caller: Caller, folderId: FolderId) => Promise<void>
  readonly onPlaced: (caller: Caller, folderId: FolderId, path: string) => void
}
