import { stat, statfs } from 'node:fs/promises'
import { AppError, because } from '#manager/contract'
import { type StorageCalls } from './calls.ts'

/** Space on the file system of the manager's own data. */
export interface Room {
  readonly bytes: number
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
 * Space that writes into folders leave free on the disk of the manager's data, so that the database can write, and so that no upload brings
 * a session to its end: the agent ends sessions at half of it.
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
  /** @returns undefined for a path on another file system than the manager's data */
  readonly look: (path: string) => Promise<Room | undefined>
  readonly now?: () => number
}

/** Writes stop at this multiple of the floor of agents. */
const TIMES = 2
/** As many inodes are kept free as by agents: this number or this share of all, whichever is smaller. */
const MOST_INODES = 10_000
const INODES_SHARE = 0.05
const FRESH_MS = 1_000

export function createDiskFloor({ floorBytes, look, now = () => performance.now() }: DiskFloorOptions): DiskFloor {
  const keptBytes = TIMES * floorBytes
  const seen = new Map<string, { readonly at: number; readonly left: Promise<Left> }>()

  async function measure({ path, calls }: Floored): Promise<Left> {
    const room = floorBytes === 0 ? undefined : await calls.run(() => look(path))
    if (!room) return { bytes: Infinity, inodes: Infinity }
    const keptInodes = TIMES * Math.min(MOST_INODES, Math.floor(room.inodesTotal * INODES_SHARE))
    return { bytes: room.bytes - keptBytes, inodes: room.inodes - keptInodes }
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
        const kept = `${Math.ceil(keptBytes / 2 ** 20)} MiB`
        throw new AppError('disk_full', { name: host, ...because('storage_keeps_free', { storage: host, size: kept }) })
      }
      left.bytes -= bytes
    },
  }
}

interface Left {
  bytes: number
  inodes: number
}

/** Looks at the file system of a path if it is that of `dataDir`. */
export async function roomBeside(dataDir: string, path: string): Promise<Room | undefined> {
  const [own, found, { bavail, bsize, files, ffree }] = await Promise.all([stat(dataDir), stat(path), statfs(path)])
  if (own.dev !== found.dev) return undefined
  return { bytes: bavail * bsize, inodes: files === 0 ? Infinity : ffree, inodesTotal: files }
}
