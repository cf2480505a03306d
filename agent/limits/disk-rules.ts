/** Space left on a file system, or used on it by a session. */
export interface Amount {
  readonly bytes: number
  /** Files, folders and links. */
  readonly inodes: number
}

export interface DiskLimits {
  /** Limit of the home, and again of everything outside it; undefined = no limit. */
  readonly bytes: number | undefined
  readonly inodes: number | undefined
}

/** A session on one file system. */
export interface Growth {
  readonly kernelId: string
  /** Use of the session when it was measured first, or when a session was last ended. */
  readonly before: Amount
  readonly now: Amount
}

export interface Verdict {
  readonly kernelId: string
  readonly message: string
}

/** Less growth than this share of the floor is not what filled a disk. */
const NOTABLE = 1 / 16
/** Inodes that are kept free, on file systems with a fixed number of them. */
const INODE_FLOOR = 10_000
const INODE_FLOOR_SHARE = 0.05

export function inodeFloor(total: number): number {
  return Math.min(INODE_FLOOR, Math.floor(total * INODE_FLOOR_SHARE))
}

/** @returns a sentence for the owner of the session where it has more than it may; else undefined */
export function overLimit(where: string, now: Amount, limits: DiskLimits): string | undefined {
  if (limits.bytes !== undefined && now.bytes > limits.bytes) {
    return `Its files ${where} took ${size(now.bytes)}; a session may have ${size(limits.bytes)} on this host.`
  }
  if (limits.inodes !== undefined && now.inodes > limits.inodes) {
    return `It had ${now.inodes} files and folders ${where}; a session may have ${limits.inodes} on this host.`
  }
  return undefined
}

/**
 * The session that fills a file system: of those that grew while they were watched, the one that grew most. undefined while there
 * is room above the floor, or where no session is the cause.
 *
 * @param left now   @param floor below it a session is ended; after an end lower, so that files that are still to be removed end nobody else
 */
export function filler(sessions: readonly Growth[], left: Amount, floor: Amount): Verdict | undefined {
  for (const what of ['bytes', 'inodes'] as const) {
    if (left[what] >= floor[what]) continue
    const [most] = sessions.toSorted((a, b) => growth(b, what) - growth(a, what))
    if (!most || growth(most, what) < floor[what] * NOTABLE) continue
    const shown = (amount: number) => (what === 'bytes' ? size(amount) : `${amount} files`)
    return {
      kernelId: most.kernelId,
      message:
        `The disk of its host was nearly full (${shown(left[what])} left), and it had written most: ` +
        `${shown(growth(most, what))} within minutes. Remove files, or ask an administrator for room.`,
    }
  }
  return undefined
}

function growth({ before, now }: Growth, what: keyof Amount): number {
  return now[what] - before[what]
}

function size(bytes: number): string {
  const gib = bytes / 2 ** 30
  return gib >= 1 ? `${gib.toFixed(1)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`
}
