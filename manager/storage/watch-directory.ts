import { watch } from 'node:fs'
import { type Directory } from './beneath.ts'

/**
 * File systems on which this kernel sees every change: ext, XFS, Btrfs, tmpfs, ZFS, overlay, F2FS, bcachefs. On a network file system the
 * kernel does not notice changes by other computers, and a call may block. @see statfs(2), linux/magic.h
 */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x2fc12fc1, 0x794c7630, 0xf2f52010, 0xca451a4e])

/**
 * Watches for the next change of a directory or of a file in it: `onChange` is called once, then the watch ends. Sessions can change files
 * very fast; a permanent watch would cost this process a call for each change.
 *
 * The watch follows the open directory, even if it is renamed.
 *
 * @returns ends the watch; undefined if the kernel cannot watch it: a network file system, or a limit of inotify
 */
export async function watchDirectory(directory: Directory, onChange: () => void): Promise<Disposable | undefined> {
  const { type } = await directory.fileSystem()
  if (!LOCAL.has(type >>> 0)) return undefined
  return await directory.withPath(path => Promise.resolve(watchOnce(path, onChange)))
}

function watchOnce(path: string, onChange: () => void): Disposable | undefined {
  try {
    const watcher = watch(path, { persistent: false })
    const end = () => {
      watcher.close()
      onChange()
    }
    watcher.once('change', end)
    watcher.once('error', end)
    return { [Symbol.dispose]: () => watcher.close() }
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return undefined
    throw error
  }
}
