import { type FolderId } from '#manager/contract'
import { type useNotices } from '../../notifications/useNotices.ts'
import { isPending, totalsOf, type TransferItem } from './transfer-item.ts'

/** Leaves a notice once all files are done, unless the person sees the folder now. */
export function sayIfOver(items: readonly TransferItem[], notices: ReturnType<typeof useNotices>): void {
  if (items.some(isPending)) return
  const { filesDone, failed, paused } = totalsOf(items)
  const folderId = items.at(-1)?.batch.folderId
  if (folderId === undefined || paused > 0 || isLookedAt(folderId)) return
  const id = `upload ${Date.now()}`
  const about = { name: '', to: `/data/${folderId}` }
  if (failed > 0) notices.add({ id, kind: 'uploadFailed', count: failed, ...about })
  else if (filesDone > 0) notices.add({ id, kind: 'uploaded', count: filesDone, ...about })
}

/** Whether the person is looking at the folder: panel and list there need no notice. */
const isLookedAt = (folderId: FolderId) => !document.hidden && globalThis.location.hash.startsWith(`#/data/${folderId}`)
