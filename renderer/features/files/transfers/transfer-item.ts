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

/** An upload. Changed in place by its store, which tells the page about it once per frame. */
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
  /** Too large for a request with other files. */
  isSingle: boolean
  /** A request with this file was sent, and its answer was lost. */
  again: boolean
  /** The files that are sent in one request with this one. */
  group: readonly TransferItem[] | null
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

type Queued = Pick<TransferItem, 'status' | 'batch' | 'address' | 'isSingle' | 'group'>
/** Fewer files are sent by themselves, each with its progress. */
const FEWEST_TOGETHER = 8

/**
 * Transfers that start now, in order, so that at most `places` requests run. Many files of one batch are put together: they are probably small, and those
 * that are not come back to the queue.
 *
 * @param most files in one group
 */
export function nextToStart<T extends Queued>(items: Iterable<T>, places: number, most: number): T[][] {
  const active = new Set<unknown>()
  let queued: T[] = []
  for (const item of items) {
    if (isActive(item)) active.add(item.group ?? item)
    else if (item.status === 'queued' && queued.length < places * most) queued.push(item)
  }
  const groups: T[][] = []
  for (let first = queued[0]; first && active.size + groups.length < places; first = queued[0]) {
    const { batch } = first
    const isJoined = (item: T) => item.batch === batch && !item.isSingle && item.address === null
    const together = isJoined(first) ? queued.filter(isJoined).slice(0, most) : []
    const group = together.length >= FEWEST_TOGETHER ? together : [first]
    groups.push(group)
    const taken = new Set(group)
    queued = queued.filter(item => !taken.has(item))
  }
  return groups
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
