import { watch } from 'node:fs'
import { type Directory } from './beneath.ts'

/**
 * File systems in which every change passes this kernel: ext, XFS, Btrfs, tmpfs, ZFS, overlay, F2FS, bcachefs. On a network file system it
 * does not notice what other computers change, and a call may block.
 *
 * @see statfs(2), linux/magic.h
 */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x2fc12fc1, 0x794c7630, 0xf2f52010, 0xca451a4e])

/**
 * Has the kernel report the next change of a directory or of a file in it: `onChange` is called once, and the watch is over. Sessions can change files
 * as fast as they like; a watch that stayed would cost this process a call for each change.
 *
 * The watch is on the directory that is open, wherever its name leads later.
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
