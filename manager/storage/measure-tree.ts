import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { type Readable } from 'node:stream'

import { DRAFT_PATTERN } from './drafts.ts'

export interface TreeSize {
  /** Bytes on disk, as `du` counts: sparse files by their blocks, hard links once. */
  readonly bytes: number
  /** Number of files, directories, links and all other entries, counting each name. */
  readonly files: number
}

/** Hard links above this number are counted once per name: their inodes are kept in memory. */
const MOST_LINKS = 100_000
/** Block size of stat(2), the same for every file system. */
const BLOCK_BYTES = 512
/** Exit code of `find` if an entry could not be read or vanished; the others are counted. */
const INCOMPLETE = 1
/** Age from which a draft counts as left behind by a dead manager. Measured by its change time, which nobody can set. */
const STALE_MINUTES = 24 * 60

/**
 * Size of everything below a directory that sessions write to. Uses `find`, which walks by descriptors and follows no link, at any depth,
 * in a separate process with low priority: even for a million files, the manager only reads the lines. Subvolumes of btrfs that a session
 * created count too. Removes old drafts.
 *
 * @param signal ends the count at once, even if the file system does not answer
 * @throws Error if `find` cannot be run; AbortError
 */
export async function measureTree(path: string, signal: AbortSignal): Promise<TreeSize> {
  const linked = ['-type', 'f', '-links', '+1', '-printf', '%b %D:%i\\n']
  const stale = ['-name', DRAFT_PATTERN, '-type', 'f', '-cmin', `+${STALE_MINUTES}`, '-delete']
  const counted = ['(', ...linked, ')', '-o', '-printf', '%b\\n']
  const args = ['-P', path, '-ignore_readdir_race', '-mindepth', '1', '(', ...stale, ')', '-o', ...counted]
  const find = spawn('find', args, { stdio: ['ignore', 'pipe', 'ignore'], signal, killSignal: 'SIGKILL' })
  const ended = once(find, 'close') as Promise<[number | null]>
  lowerPriority(find.pid)
  const [size, [code]] = await Promise.all([sumUp(find.stdout), ended])
  if (code !== 0 && code !== INCOMPLETE) throw new Error(`find ended with ${code ?? 'a signal'}`)
  return size
}

async function sumUp(lines: Readable): Promise<TreeSize> {
  let [blocks, files] = [0, 0]
  const inodes = new Set<string>()
  for await (const line of createInterface({ input: lines })) {
    files++
    const [size, inode] = line.split(' ', 2)
    if (inode !== undefined && inodes.has(inode)) continue
    if (inode !== undefined && inodes.size < MOST_LINKS) inodes.add(inode)
    blocks += Number(size)
  }
  return { bytes: blocks * BLOCK_BYTES, files }
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // The program has ended already.
  }
}
