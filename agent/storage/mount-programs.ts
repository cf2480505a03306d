import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { type MountEntry, mountAt, readMounts } from './mount-table.ts'

/**
 * Calls of mount(8) and umount(8). The paths are absolute, real, and in directories that only root may change, so none leads
 * elsewhere; both programs take them as arguments, without a shell, and resolve nothing (`-c`).
 */
const run = promisify(execFile)
/** A storage whose server is gone does not answer. */
const TIMEOUT_MS = 10_000

export async function mount(...args: readonly string[]): Promise<void> {
  await run('mount', ['-c', ...args], { timeout: TIMEOUT_MS })
}

/** @throws if the file system is in use, unless `lazily`: it is then detached from the tree now, and released with its last open file */
export async function unmount(path: string, { lazily }: { lazily: boolean }): Promise<void> {
  await run('umount', ['-c', ...(lazily ? ['-l'] : []), path], { timeout: TIMEOUT_MS })
}

/** The mounts of this process, or of another one; none if that process has ended. */
export async function mountsSeenBy(pid?: number): Promise<MountEntry[]> {
  if (pid === undefined) return readMounts(await readFile('/proc/self/mountinfo', 'utf8'))
  return readMounts(await readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => ''))
}

export async function isMountedAt(path: string): Promise<boolean> {
  return mountAt(await mountsSeenBy(), path) !== undefined
}
