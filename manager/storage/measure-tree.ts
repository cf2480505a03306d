import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { type Readable } from 'node:stream'

import { DRAFT_PATTERN } from './drafts.ts'

export interface TreeSize {
  /** On disk, as `du` counts: sparse files by their blocks, hard links once. */
  readonly bytes: number
  /** Number of files, directories, links and all others, each name once. */
  readonly files: number
}

/** Hard links above this number are counted once per name: their inodes are kept in memory. */
const MOST_LINKS = 100_000
/** stat(2): blocks are of this size, whatever the file system. */
const BLOCK_BYTES = 512
/** An entry could not be read or vanished; the others are counted. */
const INCOMPLETE = 1
/** Age at which a draft belongs to a manager that has died: by its change time, which nobody can set. */
const STALE_MINUTES = 24 * 60

/**
 * Size of everything below a directory that sessions fill. Uses `find`, which walks by descriptors and follows no link, at any
 * depth, in a process of its own with low priority: counting a million files costs the manager nothing but reading the lines.
 * Subvolumes of btrfs that a session made count too. Removes files in the making that were left behind.
 *
 * @param signal ends the count at once, also where the file system does not answer
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
