import { pathThere } from '../files/names-there.ts'
import { replacedFile } from '../files/replaced-size.ts'
import { type Directory } from '../storage/beneath.ts'
import { type Replacing } from '../store/storage/folder-usage.ts'

/** Least distance of a change from a count: times of files are those of the last tick of a clock. */
const TICK_MS = 50

export interface FreedOptions {
  /** Path of the upload that is judged, whose file is its own matter. */
  readonly own: string
  /** Time at which the count of the folder began. */
  readonly countedAt: Date
}

/**
 * Bytes of the files in a folder that unfinished uploads replace. Each file counts once, whatever the number and the spelling of the paths
 * to it, and with no more than replaces it: the rest is free only once the upload is complete. A file that has changed since the folder was
 * counted frees nothing yet, because the count may have it smaller, or not at all.
 */
export async function freedBytes(
  top: Directory,
  replacing: readonly Replacing[],
  { own, countedAt }: FreedOptions,
): Promise<number> {
  const latestNs = BigInt(countedAt.getTime() - TICK_MS) * 1_000_000n
  const seen = new Set<bigint>()
  const mine = await replacedFile(top, await pathThere(top, own))
  if (mine) seen.add(mine.inode)
  let bytes = 0
  for (const { path, held } of replacing) {
    const file = await replacedFile(top, await pathThere(top, path))
    if (!file || file.changedNs > latestNs || seen.has(file.inode)) continue
    seen.add(file.inode)
    bytes += Math.min(file.bytes, held)
  }
  return bytes
}
