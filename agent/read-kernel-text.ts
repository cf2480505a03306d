import { readFileSync } from 'node:fs'

/**
 * Text of a small file of /proc or /sys/fs/cgroup; '' if it does not exist.
 *
 * Synchronous, because the thread pool costs four times as much processor time. The kernel answers most files from memory within
 * microseconds. A known exception are cpu.stat, memory.stat and io.stat of cgroup v2: the kernel first sums the counters of all cores
 * (rstat), which takes up to milliseconds on a large host, and the process does nothing else in that time. Let other work run between the
 * files of one container and those of the next.
 */
export function readKernelText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
