import { type FolderId, type FolderPermission } from '#manager/contract'
import { type FolderOpener, type OpenFolder } from '../files/open-folder.ts'
import { requireAllowed } from '../folders/require-folder.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'

/** Time for which a checked right is trusted. */
const HOLDS_MS = 2_000

/** A folder in use. Disposing ends the use. */
export interface Held extends AsyncDisposable {
  readonly folder: OpenFolder
}

/**
 * Open folders of one connection. A folder is opened, and the right to it read, at most every two seconds: a withdrawn permission ends with
 * the next operation after that. A folder is closed when it is not used any more.
 */
export interface Leases extends AsyncDisposable {
  /** @throws AppError `folder_not_found`, `forbidden`, `group_inactive`, `storage_away` */
  hold(id: FolderId, need: FolderPermission): Promise<Held>
  /** Returns the folder if the caller may still do this. @throws as `hold` */
  require(id: FolderId, need: FolderPermission): Promise<FolderRow>
}

interface Lease {
  readonly opening: Promise<OpenFolder>
  readonly until: number
  users: number
  isRetired: boolean
}

export function createLeases(open: FolderOpener, caller: Caller, now = () => performance.now()): Leases {
  const leases = new Map<FolderId, Lease>()
  const closing = new Set<Promise<void>>()

  async function close({ opening }: Lease): Promise<void> {
    const folder = await opening.catch(() => undefined) // the error was reported to the caller that opened the folder
    await folder?.[Symbol.asyncDispose]()
  }

  function release(lease: Lease): void {
    lease.users--
    if (lease.users > 0 || !lease.isRetired) return
    const closed = close(lease).finally(() => closing.delete(closed))
    closing.add(closed)
  }

  function retire(id: FolderId): void {
    const lease = leases.get(id)
    if (!lease) return
    leases.delete(id)
    lease.isRetired = true
    lease.users++
    release(lease)
  }

  /** Closes folders that were not used for a while: an open folder keeps its storage from being unmounted. */
  const timer = setInterval(() => {
    for (const [id, lease] of leases) if (lease.until <= now()) retire(id)
  }, HOLDS_MS).unref()

  function leaseOf(id: FolderId): Lease {
    const known = leases.get(id)
    if (known && known.until > now()) return known
    retire(id)
    const lease: Lease = { opening: open(caller, id, 'ro'), until: now() + HOLDS_MS, users: 0, isRetired: false }
    leases.set(id, lease)
    // Do not keep an error for the next operation.
    lease.opening.catch(() => {
      if (leases.get(id) === lease) retire(id)
    })
    return lease
  }

  async function hold(id: FolderId, need: FolderPermission): Promise<Held> {
    const lease = leaseOf(id)
    lease.users++
    try {
      const folder = await lease.opening
      requireAllowed(caller, folder.row, need)
      return {
        folder,
        [Symbol.asyncDispose]: () => {
          release(lease)
          return Promise.resolve()
        },
      }
    } catch (error) {
      release(lease)
      throw error
    }
  }

  return {
    hold,
    async require(id, need) {
      await using held = await hold(id, need)
      return held.folder.row
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      for (const id of [...leases.keys()]) retire(id)
      await Promise.all(closing)
    },
  }
}
