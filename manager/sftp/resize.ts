import { type FolderRoom, type LimitedRow } from '../folders/room.ts'
import { amount } from '../folders/size-rules.ts'
import { type OpenFile } from '../storage/open-file.ts'

/**
 * Sets the size of a file. One that grows must fit, though its new part takes no room on the disk before it is written; one that shrinks
 * gives its room back.
 *
 * @throws AppError `quota_folder_full`, `quota_total_full`
 */
export async function resize(
  room: Pick<FolderRoom, 'require' | 'freeing'>,
  row: LimitedRow,
  { file, size }: { readonly file: OpenFile; readonly size: number },
): Promise<void> {
  const { size: before, inode } = await file.state()
  if (size > before) await room.require(row, amount(size - before, 0))
  if (size >= before) await file.truncate(size)
  else {
    await room.freeing(row, inode, async () => {
      const there = await file.state()
      await file.truncate(size)
      return amount(Math.max(0, Math.min(there.size, there.allocated) - size), 0)
    })
  }
}
