import { type FolderId } from '#manager/contract'
import { type FolderQuotas, type Meter } from '../folders/folder-quotas.ts'
import { type Amount, amount } from '../folders/size-rules.ts'
import { type OpenFile } from '../storage/open-file.ts'
import { type FolderRow } from '../store/storage/folders.ts'

/** Space in folders that one connection reserves and frees. Disposing releases the unused part. */
export class ConnectionQuotas implements AsyncDisposable {
  readonly #quotas: Pick<FolderQuotas, 'meter' | 'require' | 'freeing'>
  /** A meter per folder, with the row whose limits it applies. */
  readonly #meters = new Map<FolderId, { readonly row: FolderRow; readonly meter: Meter }>()

  constructor(quotas: Pick<FolderQuotas, 'meter' | 'require' | 'freeing'>) {
    this.#quotas = quotas
  }

  /**
   * Reserves space for a write. Limits are read together with the rights, at most two seconds ago. @throws AppError `quota_folder_full`, …
   */
  async take(row: FolderRow, more: Amount): Promise<void> {
    const known = this.#meters.get(row.id)
    if (known?.row === row) return known.meter.take(more)
    const meter = this.#quotas.meter(row)
    this.#meters.set(row.id, { row, meter })
    await known?.meter[Symbol.asyncDispose]()
    await meter.take(more)
  }

  /**
   * Sets the size of a file. A larger size must fit, although the new part uses no disk space before it is written; a smaller size frees
   * space.
   *
   * @throws AppError `quota_folder_full`, `quota_total_full`
   */
  async resize(row: FolderRow, file: OpenFile, size: number): Promise<void> {
    const { size: before, inode } = await file.state()
    if (size > before) await this.#quotas.require(row, amount(size - before, 0))
    if (size >= before) await file.truncate(size)
    else {
      await this.#quotas.freeing(row, inode, async () => {
        const there = await file.state()
        await file.truncate(size)
        return amount(Math.max(0, Math.min(there.size, there.allocated) - size), 0)
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { meter } of this.#meters.values()) await meter[Symbol.asyncDispose]()
  }
}
