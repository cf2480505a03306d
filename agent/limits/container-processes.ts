import { opendirSync, readdirSync } from 'node:fs'
import { readKernelText } from '../read-kernel-text.ts'
import { cgroupPaths } from '../stats/cgroup.ts'

/** Processes of a container, as numbered on this host; empty if they are not processes of this host. */
export function processesOf(pid: number, containerId: string): number[] {
  if (pid === 0) return []
  const paths = cgroupPaths(readKernelText(`/proc/${pid}/cgroup`), containerId)
  if (!paths) return []
  const directory = paths.version === 2 ? paths.unified : paths.memory
  return readKernelText(`${directory}/cgroup.procs`).split('\n').filter(Boolean).map(Number)
}

/** Bytes that processes have written to disks since they began. @see proc_pid_io(5) */
export function writtenBy(pids: readonly number[]): number {
  const written = (pid: number) => Number(/^write_bytes: (\d+)/m.exec(readKernelText(`/proc/${pid}/io`))?.[1] ?? 0)
  return pids.reduce((sum, pid) => sum + written(pid), 0)
}

/** Ids of the threads of a process; empty if the process has ended. */
export function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/**
 * Paths of the descriptors of a process, as a thread chosen at random has them: the first thread may have ended, and then has none, and
 * a thread may have descriptors of its own.
 */
export function* descriptorsOf(pid: number): Generator<string> {
  for (const thread of shuffled(threadsOf(pid))) {
    const path = `/proc/${pid}/task/${thread}/fd`
    let isListed = false
    try {
      using directory = opendirSync(path)
      for (let entry = directory.readSync(); entry; entry = directory.readSync()) {
        isListed = true
        yield `${path}/${entry.name}`
      }
      return
    } catch {
      // The thread has ended. If it had none to list, another thread is asked; if the process has ended, there is none.
      if (isListed) return
    }
  }
}

export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map(item => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
