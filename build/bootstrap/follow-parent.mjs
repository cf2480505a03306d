import { readFileSync } from 'node:fs'

const POLL_MS = 500

/**
 * Ends this process with SIGTERM once the process that started it is gone, so that ending `npx berth agent` or `npm start` ends Berth too.
 *
 * npm runs a command below a shell. A SIGTERM that npm passes on ends that shell, not the command; a SIGKILL of npm ends not even the
 * shell. Both leave the command behind, where a supervisor would start a second one beside it. A process that was started in another
 * way has no launcher, and may outlive its parent (nohup, a closed terminal).
 *
 * Does nothing on Windows, where a process keeps the id of a parent that has ended.
 *
 * @param {boolean} hasLauncher whether npm, or another copy of `bin/berth`, started this process
 */
export function endWithLauncher(hasLauncher) {
  if (!hasLauncher || process.platform === 'win32') return
  const { ppid } = process
  const above = npmAbove(ppid)
  const timer = setInterval(() => {
    // A shell that cannot be read for a moment has not ended: then the parent would be another.
    if (process.ppid === ppid && [above, undefined].includes(npmAbove(ppid))) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, POLL_MS)
  timer.unref()
}

/**
 * The npm above the shell that npm runs a command with.
 *
 * @returns {number | undefined} undefined if there is no such shell (some become the command: then npm itself is the parent, and what
 * started npm may end before it), or if the system does not say (Linux only)
 */
function npmAbove(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything, also a parenthesis.
    const end = stat.lastIndexOf(')')
    if (!/^(ba|da|a|z)?sh$/.test(stat.slice(stat.indexOf('(') + 1, end))) return undefined
    return Number(stat.slice(end + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
