import { type FolderId } from '#manager/contract'
import { type FileSource } from './file-source.ts'
import { type RunningUpload, type UploadConflict } from './upload-file.ts'

export type TransferStatus =
  | 'queued'
  | 'running'
  /** The connection is lost; the next attempt follows automatically. */
  | 'waiting'
  /** All bytes have arrived; their hash is compared. */
  | 'checking'
  | 'paused'
  /** The name exists, and the user is asked. */
  | 'conflict'
  | 'done'
  | 'failed'
  | 'cancelled'

/** Files that were chosen together: an answer for all applies to each of them. */
export interface Batch {
  readonly folderId: FolderId
  onConflict: UploadConflict | 'skip' | null
  /** The question being asked; further conflicts wait for it. */
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
  /** True if the file is too large for a request with other files. */
  isSingle: boolean
  /** True if a request with this file was sent and its answer was lost. */
  again: boolean
  /** The files that are sent in one request with this one. */
  group: readonly TransferItem[] | null
}

/** Statuses in which a transfer occupies a slot. */
const ACTIVE: ReadonlySet<TransferStatus> = new Set(['running', 'waiting', 'checking'])
export const isActive = ({ status }: Pick<TransferItem, 'status'>) => ACTIVE.has(status)
/** Whether it is still to be done, without help from the user. */
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
/** With fewer files than this, each is sent on its own, with its own progress. */
const FEWEST_TOGETHER = 8

/**
 * Transfers that start now, in order, so that at most `places` requests run. Many files of one batch are grouped: they are probably small,
 * and large ones return to the queue.
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

/** Files of one directory that need no attention, as one row of the panel. */
export interface DirectoryRow extends Totals {
  readonly kind: 'directory'
  /** The id of its first file. */
  readonly id: number
  /** Relative to the folder. */
  readonly path: string
  readonly status: Extract<TransferStatus, 'running' | 'paused' | 'done'>
  /** The files of the directory, for the actions of the row. */
  readonly ids: readonly number[]
}
export interface FileRow<T> {
  readonly kind: 'file'
  readonly item: T
}
type Row = Pick<TransferItem, 'id' | 'path' | 'status' | 'batch' | 'size' | 'sent'> & {
  readonly source: Pick<FileSource, 'path'>
}

/**
 * The first `most` rows for the panel: first uploads that need attention, then running ones. A directory is one row; its files that failed,
 * or whose names exist, have separate rows.
 */
export function shownFirst<T extends Row>(items: readonly T[], most: number): (DirectoryRow | FileRow<T>)[] {
  const rows: { readonly order: number; readonly id: number; readonly row: DirectoryRow | FileRow<T> }[] = []
  const directories = new Map<Batch, Map<string, T[]>>()
  for (const item of items) {
    if (item.status === 'cancelled') continue
    const [top = '', ...inside] = item.source.path.split('/')
    if (inside.length === 0 || item.status === 'failed' || item.status === 'conflict') {
      rows.push({ order: ORDER[item.status], id: item.id, row: { kind: 'file', item } })
      continue
    }
    const ofBatch = directories.get(item.batch) ?? new Map<string, T[]>()
    directories.set(item.batch, ofBatch)
    const files = ofBatch.get(top)
    if (files) files.push(item)
    else ofBatch.set(top, [item])
  }
  for (const ofBatch of directories.values())
    for (const [top, files] of ofBatch) {
      const row = directoryRow(top, files)
      rows.push({ order: ORDER[row.status], id: row.id, row })
    }
  return rows
    .toSorted((a, b) => a.order - b.order || a.id - b.id)
    .slice(0, most)
    .map(({ row }) => row)
}

/** @param files at least one */
function directoryRow(top: string, files: readonly Row[]): DirectoryRow {
  const totals = totalsOf(files)
  const first = files[0]
  // Length of the path above the dropped directory.
  const above = first ? first.path.length - first.source.path.length : 0
  return {
    ...totals,
    kind: 'directory',
    id: first?.id ?? 0,
    path: `${first?.path.slice(0, above) ?? ''}${top}`,
    status: totals.pending > 0 ? 'running' : totals.paused > 0 ? 'paused' : 'done',
    ids: files.map(({ id }) => id),
  }
}

/** Reads the status at this moment: users and connections change it while a function waits. */
export const is = (item: TransferItem, ...statuses: readonly TransferStatus[]) => statuses.includes(item.status)
