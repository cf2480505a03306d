import { setImmediate } from 'node:timers/promises'
import { readKernelText } from '../read-kernel-text.ts'
import { threadsOf } from './container-processes.ts'
import { countBits, type HeldSignals } from './pending-signal-rules.ts'

/** Calls before the agent's other work gets its turn. */
const SLICE = 200

/**
 * Looks at the pending signals and timers of processes. The kernel tells which signals are pending, and not how often each is.
 *
 * @see proc_pid_status(5), proc_pid_timers(5)
 */
export async function heldSignals(pids: readonly number[]): Promise<Map<number, HeldSignals>> {
  const held = new Map<number, HeldSignals>()
  let looked = 0
  for (const pid of pids) {
    let certain = readKernelText(`/proc/${pid}/timers`).split('ID:').length - 1
    let hasQueue = false
    for (const thread of threadsOf(pid)) {
      if (++looked % SLICE === 0) await setImmediate()
      const pending = countBits(readKernelText(`/proc/${pid}/task/${thread}/status`))
      certain += pending.certain
      hasQueue ||= pending.hasQueue
    }
    if (certain > 0 || hasQueue) held.set(pid, { certain, hasQueue })
  }
  return held
}
