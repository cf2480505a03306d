import { opendirSync, readFileSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { cgroupPaths } from '../stats/cgroup.ts'

/** Links that are read before other work of the agent gets its turn. */
const SLICE = 200

/** Processes of a container, as this host numbers them. Empty where they are not processes of this host. */
export async function processesOf(pid: number, containerId: string): Promise<number[]> {
  if (pid === 0) return []
  const paths = cgroupPaths(await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => ''), containerId)
  if (!paths) return []
  const directory = paths.version === 2 ? paths.unified : paths.memory
  const text = await readFile(`${directory}/cgroup.procs`, 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}

export interface InotifyUse {
  readonly instances: number
  readonly watches: number
  /** Descriptors that were looked at. */
  readonly looked: number
}

const INOTIFY = 'anon_inode:inotify'

/**
 * inotify instances that a process holds, and the watches in them; none for a process that has ended. Synchronous in slices: the
 * kernel answers from memory, while the thread pool of a busy host takes a minute for the 128 small files of one process.
 *
 * @param atMost descriptors that are looked at   @see proc_pid_fdinfo(5)
 */
export async function inotifyUse(pid: number, atMost: number): Promise<InotifyUse> {
  const found: string[] = []
  let looked = 0
  try {
    const directory = opendirSync(`/proc/${pid}/fd`)
    try {
      for (let entry = directory.readSync(); entry && looked < atMost; entry = directory.readSync()) {
        looked += 1
        if (looked % SLICE === 0) await setImmediate()
        if (linkOf(pid, entry.name) === INOTIFY) found.push(entry.name)
      }
    } finally {
      directory.closeSync()
    }
  } catch {
    return { instances: 0, watches: 0, looked } // the process has ended
  }
  let watches = 0
  for (const name of found) {
    const count = watchesOf(pid, name)
    watches += count
    if (count > SLICE) await setImmediate()
  }
  return { instances: found.length, watches, looked }
}

function linkOf(pid: number, descriptor: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`)
  } catch {
    return undefined // closed meanwhile
  }
}

function watchesOf(pid: number, descriptor: string): number {
  try {
    return readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8').split('inotify wd:').length - 1
  } catch {
    return 0 // closed meanwhile
  }
}
