import { pathThere } from '../files/names-there.ts'
import { replacedFile } from '../files/replaced-size.ts'
import { type Directory } from '../storage/beneath.ts'
import { type Replacing } from '../store/storage/folder-usage.ts'

/** Possible error of file times: they are the time of the last clock tick. */
const TICK_MS = 50

export interface FreedOptions {
  /** Path of the upload that is being checked, whose file is not counted here. */
  readonly own: string
  /** Time at which measuring the folder began. */
  readonly countedAt: Date
}

/**
 * Bytes that become free when unfinished uploads replace files in a folder. Each file counts once, however many paths lead to it and
 * however they are spelled, and at most with the size of its replacement: the rest becomes free only once the upload is complete. A file
 * that has changed since the folder was measured frees nothing yet, because the measurement may contain a smaller size, or no such file.
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
