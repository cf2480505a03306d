import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Directory } from './beneath.ts'

/** A disk may have to write all data from memory. */
const SYNC_MS = 120_000

/**
 * Like `syncFileSystem`. Callers that arrive during a call share the next one, which begins after all of them have written.
 *
 * @param host storage host of the directory
 */
export type SharedSync = (host: string, directory: Directory) => Promise<boolean>

export function createSharedSync(): SharedSync {
  const running = new Map<string, Promise<boolean>>()
  const next = new Map<string, Promise<boolean>>()

  function begin(host: string, directory: Directory): Promise<boolean> {
    next.delete(host)
    const run = syncFileSystem(directory).finally(() => {
      if (running.get(host) === run) running.delete(host)
    })
    running.set(host, run)
    return run
  }

  return (host, directory) => {
    const before = running.get(host)
    if (!before) return begin(host, directory)
    const shared = next.get(host) ?? before.then(() => begin(host, directory))
    next.set(host, shared)
    return shared
  }
}

/**
 * Waits until all data written to the file system of a directory is on the disk (syncfs(2), which Node does not offer). For many small
 * files this takes a fraction of the time of one fsync per file.
 *
 * @returns false if the program `sync` does not exist or does not support it
 */
async function syncFileSystem(directory: Directory): Promise<boolean> {
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
