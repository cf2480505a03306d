import { readdirSync } from 'node:fs'
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

/** Ids of the threads of a process; empty if the process has ended. */
export function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}
