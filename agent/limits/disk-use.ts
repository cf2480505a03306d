import { execFile } from 'node:child_process'
import { lstat, readFile, stat, statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { treeBelow } from '../tree-below.ts'
import { type Amount } from './disk-rules.ts'

const run = promisify(execFile)
/** The walk of a tree is stopped after this time; its size is then unknown. */
const TIMEOUT_MS = 60_000
/** A tree of at most this many files is counted here, because starting `du` would cost more. */
const SMALL_TREE = 200

/**
 * Space below a directory. `du` counts all but small trees: it walks by descriptors, so a path that is too long for the system hides
 * nothing. It enters btrfs subvolumes, which have separate device numbers; nothing else is mounted below these directories.
 * @returns undefined if the directory does not exist, or takes longer than a minute
 */
export async function diskUse(path: string, signal: AbortSignal): Promise<Amount | undefined> {
  const small = await useOfSmallTree(path, signal)
  if (small) return small
  const [kib, inodes] = await Promise.all([du(['-sk'], path, signal), du(['-s', '--inodes'], path, signal)])
  // busybox does not count inodes.
  return kib === undefined ? undefined : { bytes: kib * 1024, inodes: inodes ?? 0 }
}

/** @returns undefined if aborted, if there are more files, or if they cannot be counted */
async function useOfSmallTree(path: string, signal: AbortSignal): Promise<Amount | undefined> {
  try {
    const { dev, blocks } = await lstat(path)
    // By inode: hard links count once, as with `du`.
    const seen = new Map<number, number>([[-1, blocks]])
    for await (const found of treeBelow(path)) {
      if (seen.size >= SMALL_TREE || signal.aborted) return undefined
      if (found.dev !== dev) return undefined // inode numbers are unique only within a subvolume
      seen.set(found.ino, found.blocks)
    }
    return { bytes: [...seen.values()].reduce((total, count) => total + count, 0) * 512, inodes: seen.size }
  } catch {
    return undefined // e.g. too many levels of folders
  }
}

async function du(options: readonly string[], path: string, signal: AbortSignal): Promise<number | undefined> {
  const stdout = await run('nice', ['du', ...options, '--', path], { timeout: TIMEOUT_MS, signal }).then(
    result => result.stdout,
    // `du` exits with 1 if files vanish during the count; its figure is still usable.
    (error: unknown) =>
      error instanceof Error && 'stdout' in error && typeof error.stdout === 'string' ? error.stdout : '',
  )
  const figure = /^\d+/.exec(stdout)?.[0]
  return figure === undefined ? undefined : Number(figure)
}

export interface FileSystem {
  /** Device number of stat(2): the same for all paths on the file system. */
  readonly device: number
  readonly left: Amount
  /** 0 if inodes are created on demand (btrfs). */
  readonly inodesTotal: number
}

export async function fileSystemOf(path: string): Promise<FileSystem | undefined> {
  try {
    const [{ dev }, { bavail, bsize, files, ffree }] = await Promise.all([stat(path), statfs(path)])
    return { device: dev, inodesTotal: files, left: { bytes: bavail * bsize, inodes: files === 0 ? Infinity : ffree } }
  } catch {
    return undefined
  }
}

/**
 * Directory with a container's changes to its image, according to its root mount (overlay2, and containerd's overlayfs).
 * undefined with other storage drivers, and if the container is not on this host.
 */
export async function writableLayer(pid: number): Promise<string | undefined> {
  if (pid === 0) return undefined
  return upperDirectory(await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => ''))
}

/** @param mountinfo text of /proc/PID/mountinfo, see proc_pid_mountinfo(5) */
export function upperDirectory(mountinfo: string): string | undefined {
  for (const line of mountinfo.split('\n')) {
    const [, , , , mountPoint] = line.split(' ')
    const [, type, , options] = /- (\S+) (\S+) (\S+)$/.exec(line) ?? []
    if (mountPoint !== '/' || type !== 'overlay') continue
    const upper = options?.split(',').find(option => option.startsWith('upperdir='))
    // The path is relative where the mount options would be too long for the kernel.
    if (upper?.startsWith('upperdir=/') === true) return upper.slice('upperdir='.length)
  }
  return undefined
}
