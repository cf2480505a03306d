import { because, type Because } from '#manager/contract'

/** Space left on a file system, or used on it by a session. */
export interface Amount {
  readonly bytes: number
  /** Files, folders and links. */
  readonly inodes: number
}

export interface DiskLimits {
  /** Limit in bytes of the home, and separately of everything outside it; undefined = no limit. */
  readonly bytes: number | undefined
  readonly inodes: number | undefined
}

/** Growth of a session on one file system. */
export interface Growth {
  readonly kernelId: string
  /** Baseline: use at the last measurement before space became short, or when a session was last ended. */
  readonly before: Amount
  readonly now: Amount
  /** Bytes that its present processes have written to any disk: tells apart sessions that have grown by the same folder. */
  readonly wrote?: number
  /** The same since space became short. */
  readonly wroteSince?: number
}

export interface Verdict {
  readonly kernelId: string
  readonly why: Because
}

/** A session that grew by less than this share of the floor did not fill the disk. */
const NOTABLE = 1 / 16
/** Inodes kept free on file systems with a fixed number of them: this number or this share of all, whichever is smaller. */
const INODE_FLOOR = 10_000
const INODE_FLOOR_SHARE = 0.05

export function inodeFloor(total: number): number {
  return Math.min(INODE_FLOOR, Math.floor(total * INODE_FLOOR_SHARE))
}

/** @param isHome whether the files are in the home, or outside of it @returns a sentence for the session's owner if the session exceeds its limit; else undefined */
export function overLimit(isHome: boolean, now: Amount, limits: DiskLimits): Because | undefined {
  if (limits.bytes !== undefined && now.bytes > limits.bytes) {
    const amounts = { size: sizeText(now.bytes), limit: sizeText(limits.bytes) }
    return because(isHome ? 'home_bytes_over' : 'outside_bytes_over', amounts)
  }
  if (limits.inodes !== undefined && now.inodes > limits.inodes) {
    const amounts = { count: now.inodes, limit: limits.inodes }
    return because(isHome ? 'home_files_over' : 'outside_files_over', amounts)
  }
  return undefined
}

/**
 * Finds the session that fills a file system: the one that has grown most while being watched. undefined while there is more space than the
 * floor, or if no session is the cause.
 *
 * @param left free space now
 * @param floor with less free space a session is ended; lowered after that, so that files still to be removed do not end another session
 */
export function filler(sessions: readonly Growth[], left: Amount, floor: Amount): Verdict | undefined {
  for (const what of ['bytes', 'inodes'] as const) {
    if (left[what] >= floor[what]) continue
    const [most] = sessions.toSorted((a, b) => growth(b, what) - growth(a, what) || (b.wrote ?? 0) - (a.wrote ?? 0))
    if (!most || growth(most, what) < floor[what] * NOTABLE) continue
    const amounts = [left[what], growth(most, what)] as const
    const why =
      what === 'bytes'
        ? because('disk_filled_by_bytes', { left: sizeText(amounts[0]), written: sizeText(amounts[1]) })
        : because('disk_filled_by_files', { left: amounts[0], written: amounts[1] })
    return { kernelId: most.kernelId, why }
  }
  return undefined
}

function growth({ before, now }: Growth, what: keyof Amount): number {
  return now[what] - before[what]
}

/** Loss of a file system since there was room, with its floor. */
export interface Loss {
  readonly lost: Amount
  readonly floor: Amount
}

const takenOf = (sessions: readonly Growth[], what: keyof Amount) =>
  sessions.map(session => Math.max(0, growth(session, what)))

/** The loss of a file system that no session is known to have caused; 0 for less than a notable one, or than one session has caused. */
function unexplained(sessions: readonly Growth[], { lost, floor }: Loss, what: keyof Amount): number {
  const taken = takenOf(sessions, what)
  const rest = lost[what] - taken.reduce((total, one) => total + one, 0)
  return rest >= floor[what] * NOTABLE && rest > Math.max(0, ...taken) ? rest : 0
}

/**
 * Whether a file system has lost notably more than any session is known to have taken. A session can hide files from a walk of its
 * tree: it learns from the file system where the walk is, and moves them behind it. Pure.
 */
export function isUnexplained(sessions: readonly Growth[], loss: Loss): boolean {
  return unexplained(sessions, loss, 'bytes') > 0 || unexplained(sessions, loss, 'inodes') > 0
}

/** A session that has written at least this part of the unexplained bytes took them: its processes are counted a moment late. */
const LEAST_WRITTEN = 1 / 2

/**
 * Finds the session that may fill a file system with bytes that are in no file of it that can be found: deleted files in flight over a
 * Unix socket, for example. Its processes have written about as much as is missing, and more than others. It may have written them to the
 * same place again and again while a program of the host fills the disk, so this proves nothing: `tryStopping` does. Pure.
 *
 * @param left free space now
 * @param floor as for `filler`; that of the loss is not lowered
 */
export function hiddenFiller(
  sessions: readonly Growth[],
  left: Amount,
  floor: Amount,
  loss: Loss,
): Verdict | undefined {
  const rest = left.bytes < floor.bytes ? unexplained(sessions, loss, 'bytes') : 0
  const hidden = (session: Growth) => (session.wroteSince ?? 0) - Math.max(0, growth(session, 'bytes'))
  const [most] = sessions.toSorted((a, b) => hidden(b) - hidden(a))
  if (rest === 0 || !most || hidden(most) < rest * LEAST_WRITTEN) return undefined
  const amounts = { left: sizeText(left.bytes), written: sizeText(most.wroteSince ?? 0) }
  return { kernelId: most.kernelId, why: because('disk_filled_by_bytes', amounts) }
}

export function sizeText(bytes: number): string {
  const gib = bytes / 2 ** 30
  return gib >= 1 ? `${gib.toFixed(1)} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`
}
