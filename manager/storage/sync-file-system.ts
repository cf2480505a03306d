import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Directory } from './beneath.ts'

/** A disk may have to write all that is in memory. */
const SYNC_MS = 120_000

/**
 * Waits until everything that was written to the file system of a directory is on the disk (syncfs(2), for which Node has no call). For
 * many small files it takes a fraction of the time of an fsync for each.
 *
 * @returns false where the program `sync` does not exist or cannot do it
 */
export async function syncFileSystem(directory: Directory): Promise<boolean> {
  return directory.withPath(async path => {
    const descriptor = Number(path.split('/').at(-1))
    const child = spawn('sync', ['-f', '/proc/self/fd/3'], {
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
      timeout: SYNC_MS,
      killSignal: 'SIGKILL',
    })
    const [code] = (await once(child, 'close').catch(() => [1])) as [number | null]
    return code === 0
  })
}
