import { stat, statfs } from 'node:fs/promises'
import { AppError, because } from '#manager/contract'
import { type StorageCalls } from './calls.ts'

/** Space on the file system of a storage. */
export interface Room {
  /** True for the file system of the manager's own data. */
  readonly isOwn: boolean
  readonly bytes: number
  readonly bytesTotal: number
  /** Infinity where the file system makes inodes as needed. */
  readonly inodes: number
  readonly inodesTotal: number
}

/** A storage host, and the calls in whose turn its file system is asked. */
export interface Floored {
  readonly host: string
  readonly path: string
  readonly calls: Pick<StorageCalls, 'run'>
}

/**
 * Space that writes into folders leave free. On the disk of the manager's data it is for the database, and no upload brings a session to its
 * end there: the agent ends sessions at half of it. On other disks it is for the sessions that write into folders themselves: one upload
 * must not take the last of it from a training run of hours.
 */
export interface DiskFloor {
  /** Bytes that may be written now; Infinity where nothing is kept free. @throws AppError `storage_away` */
  left(storage: Floored): Promise<number>
  /** Counts a write before it begins. @throws AppError `disk_full`, `storage_away` */
  require(storage: Floored, bytes: number): Promise<void>
}

export interface DiskFloorOptions {
  /** `agent.scratch.floorMib`. */
  readonly floorBytes: number
  readonly look: (path: string) => Promise<Room>
  readonly now?: () => number
}

/** On the disk of the manager's data, writes stop at this multiple of the floor of agents. */
const TIMES = 2
/** On other disks, the floor is at most this share of the disk, because a storage may be smaller than the floor. */
const BYTES_SHARE = 0.05
/** As many inodes are kept free as by agents: this number or this share of all, whichever is smaller. */
const MOST_INODES = 10_000
const INODES_SHARE = 0.05
const FRESH_MS = 1_000

export function createDiskFloor({ floorBytes, look, now = () => performance.now() }: DiskFloorOptions): DiskFloor {
  const seen = new Map<string, { readonly at: number; readonly left: Promise<Left> }>()

  async function measure({ path, calls }: Floored): Promise<Left> {
    if (floorBytes === 0) return { isOwn: false, kept: 0, bytes: Infinity, inodes: Infinity }
    const { isOwn, bytes, bytesTotal, inodes, inodesTotal } = await calls.run(() => look(path))
    const kept = isOwn ? TIMES * floorBytes : Math.min(floorBytes, Math.floor(bytesTotal * BYTES_SHARE))
    const keptInodes = (isOwn ? TIMES : 1) * Math.min(MOST_INODES, Math.floor(inodesTotal * INODES_SHARE))
    return { isOwn, kept, bytes: bytes - kept, inodes: inodes - keptInodes }
  }

  /** Looked up at most once a second: what is written meanwhile is subtracted. */
  function leftAt(storage: Floored): Promise<Left> {
    const { path } = storage
    const known = seen.get(path)
    if (known && now() - known.at < FRESH_MS) return known.left
    const left = measure(storage)
    seen.set(path, { at: now(), left })
    left.catch(() => seen.delete(path))
    return left
  }

  return {
    left: async storage => Math.max(0, (await leftAt(storage)).bytes),
    async require(storage, bytes) {
      const { host } = storage
      const left = await leftAt(storage)
      if (left.bytes < bytes || left.inodes <= 0) {
        const size = `${Math.ceil(left.kept / 2 ** 20)} MiB`
        const cause = left.isOwn ? 'storage_keeps_free' : 'storage_keeps_for_sessions'
        throw new AppError('disk_full', { name: host, ...because(cause, { storage: host, size }) })
      }
      left.bytes -= bytes
    },
  }
}

interface Left {
  readonly isOwn: boolean
  /** Bytes that stay free. */
  readonly kept: number
  bytes: number
  inodes: number
}

/** Looks at the file system of a path, beside that of `dataDir`. */
export async function roomBeside(dataDir: string, path: string): Promise<Room> {
  const [own, found, { bavail, blocks, bsize, files, ffree }] = await Promise.all([
    stat(dataDir),
    stat(path),
    statfs(path),
  ])
  return {
    isOwn: own.dev === found.dev,
    bytes: bavail * bsize,
    bytesTotal: blocks * bsize,
    inodes: files === 0 ? Infinity : ffree,
    inodesTotal: files,
  }
}
