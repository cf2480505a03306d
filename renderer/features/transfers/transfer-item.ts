import { type FolderId } from '#manager/contract'
import { type FileSource } from './file-source.ts'
import { type RunningUpload, type UploadConflict } from './upload-file.ts'

export type TransferStatus =
  | 'queued'
  | 'running'
  /** The connection is lost; the next attempt comes by itself. */
  | 'waiting'
  /** All bytes have arrived; their hash is compared. */
  | 'checking'
  | 'paused'
  /** The name exists; the user is asked. */
  | 'conflict'
  | 'done'
  | 'failed'
  | 'cancelled'

/** Files that were chosen together: a conflict that is answered for all holds for them. */
export interface Batch {
  readonly folderId: FolderId
  onConflict: UploadConflict | 'skip' | null
  /** The question that is asked now; further conflicts wait for it. */
  asking: Promise<null>
}

/** One upload. Changed in place by its store, which tells the page about it once per frame. */
export interface TransferItem {
  readonly id: number
  readonly batch: Batch
  /** Relative to the folder. */
  readonly path: string
  source: FileSource
  size: number
  sent: number
  status: TransferStatus
  error: unknown
  onConflict: UploadConflict
  address: string | null
  running: RunningUpload | null
}

/** Statuses in which a transfer has one of the places. */
const ACTIVE: ReadonlySet<TransferStatus> = new Set(['running', 'waiting', 'checking'])
export const isActive = ({ status }: Pick<TransferItem, 'status'>) => ACTIVE.has(status)
/** Still to be done without anybody's help. */
export const isPending = (item: Pick<TransferItem, 'status'>) => isActive(item) || item.status === 'queued'

export interface Totals {
  readonly files: number
  readonly filesDone: number
  readonly failed: number
  readonly pending: number
  readonly paused: number
  readonly bytes: number
  readonly bytesSent: number
}

/** Sums over transfers; cancelled ones do not count. */
export function totalsOf(items: Iterable<Pick<TransferItem, 'status' | 'size' | 'sent'>>): Totals {
  const totals = { files: 0, filesDone: 0, failed: 0, pending: 0, paused: 0, bytes: 0, bytesSent: 0 }
  for (const item of items) {
    if (item.status === 'cancelled') continue
    totals.files++
    totals.bytes += item.size
    totals.bytesSent += Math.min(item.sent, item.size)
    if (item.status === 'done') totals.filesDone++
    else if (item.status === 'failed') totals.failed++
    else if (item.status === 'paused' || item.status === 'conflict') totals.paused++
    else totals.pending++
  }
  return totals
}

/** Transfers that start now, in order, so that at most `places` run. */
export function nextToStart<T extends Pick<TransferItem, 'status'>>(items: Iterable<T>, places: number): T[] {
  const queued: T[] = []
  let free = places
  for (const item of items) {
    if (isActive(item)) free--
    else if (item.status === 'queued' && queued.length < places) queued.push(item)
  }
  return queued.slice(0, Math.max(0, free))
}

const ORDER: Readonly<Record<TransferStatus, number>> = {
  conflict: 0,
  failed: 1,
  running: 2,
  waiting: 2,
  checking: 2,
  paused: 3,
  queued: 4,
  done: 5,
  cancelled: 6,
}

/** The first `most` transfers for the panel: those that need somebody first, then those that run. */
export function shownFirst<T extends Pick<TransferItem, 'status' | 'id'>>(items: readonly T[], most: number): T[] {
  return items
    .filter(item => item.status !== 'cancelled')
    .toSorted((a, b) => ORDER[a.status] - ORDER[b.status] || a.id - b.id)
    .slice(0, most)
}
