import { readFileSync } from 'node:fs'

const POLL_MS = 500

/**
 * Ends this process with SIGTERM once the process that started it is gone, so that ending `npx berth agent` ends the agent too.
 *
 * npm runs a command below a shell. A SIGTERM that npm passes on ends that shell, not the command; a SIGKILL of npm ends not even the
 * shell. Both leave the command behind, where a supervisor would start a second one beside it. A process that was started in another
 * way has no launcher, and may outlive its parent (nohup, a closed terminal).
 *
 * Does nothing on Windows, where a process keeps the id of a parent that has ended.
 *
 * @param {boolean} hasLauncher whether `npx` or another copy of `bin/berth` started this process
 */
export function endWithLauncher(hasLauncher) {
  if (!hasLauncher || process.platform === 'win32') return
  const { ppid } = process
  const above = parentOf(ppid)
  const timer = setInterval(() => {
    if (process.ppid === ppid && parentOf(ppid) === above) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, POLL_MS)
  timer.unref()
}

/** @returns {number | undefined} undefined if the system does not say (Linux only) */
function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything, also a parenthesis.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
