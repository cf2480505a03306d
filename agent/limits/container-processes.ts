import { opendirSync, readlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { readKernelText } from '../read-kernel-text.ts'
import { cgroupPaths } from '../stats/cgroup.ts'

/** Links read before the agent's other work gets its turn. */
const SLICE = 200

/** Processes of a container, as numbered on this host; empty if they are not processes of this host. */
export function processesOf(pid: number, containerId: string): number[] {
  if (pid === 0) return []
  const paths = cgroupPaths(readKernelText(`/proc/${pid}/cgroup`), containerId)
  if (!paths) return []
  const directory = paths.version === 2 ? paths.unified : paths.memory
  return readKernelText(`${directory}/cgroup.procs`).split('\n').filter(Boolean).map(Number)
}

export interface InotifyUse {
  readonly instances: number
  readonly watches: number
  /** Number of descriptors examined. */
  readonly looked: number
}

const INOTIFY = 'anon_inode:inotify'

/**
 * Number of inotify instances of a process, and the watches in them; none for a process that has ended.
 *
 * Descriptors are listed and read synchronously: the kernel answers from memory, and the thread pool costs ten times as much.
 *
 * @param atMost maximum number of descriptors to examine
 * @see proc_pid_fdinfo(5)
 */
export async function inotifyUse(pid: number, atMost: number): Promise<InotifyUse> {
  const found: string[] = []
  let looked = 0
  try {
    using directory = opendirSync(`/proc/${pid}/fd`)
    for (let entry = directory.readSync(); entry && looked < atMost; entry = directory.readSync()) {
      looked += 1
      if (looked % SLICE === 0) await setImmediate()
      if (linkOf(pid, entry.name) === INOTIFY) found.push(entry.name)
    }
  } catch {
    return { instances: 0, watches: 0, looked } // the process has ended
  }
  let watches = 0
  for (const name of found) {
    // Read in the thread pool: for an instance with 60,000 watches the kernel takes 200 ms to print the text.
    const text = await readFile(`/proc/${pid}/fdinfo/${name}`, 'utf8').catch(() => '')
    watches += text.split('inotify wd:').length - 1
  }
  return { instances: found.length, watches, looked }
}

function linkOf(pid: number, descriptor: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`)
  } catch {
    return undefined // closed in the meantime
  }
}
