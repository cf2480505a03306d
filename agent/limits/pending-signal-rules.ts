/** Signals and timers that a process or thread holds. */
export interface HeldSignals {
  /** Number of those that can be counted. */
  readonly certain: number
  /** Whether a real-time signal is pending: any number of them may wait in a queue. */
  readonly hasQueue: boolean
}

/** Real-time signals, as bits of a mask. @see signal(7) */
const REAL_TIME = ~0n << 31n

/** Reads the masks of a thread. @param status text of /proc/PID/task/TID/status */
export function countBits(status: string): HeldSignals {
  const maskOf = (name: string) => BigInt(`0x${new RegExp(`^${name}:\\s*([0-9a-f]+)`, 'm').exec(status)?.[1] ?? '0'}`)
  const own = maskOf('SigPnd')
  const bits = own.toString(2).replaceAll('0', '').length
  return { certain: bits, hasQueue: ((own | maskOf('ShdPnd')) & REAL_TIME) !== 0n }
}

/** Number of pending signals and timers of the user of a process. @param status text of /proc/PID/status */
export const signalsOfUser = (status: string): number => Number(/^SigQ:\s*(\d+)/m.exec(status)?.[1] ?? 0)

/**
 * Estimates by process: what cannot be counted is divided among the processes with real-time signals. Pure.
 *
 * @param count of the user
 */
export function signalsByProcess(held: ReadonlyMap<number, HeldSignals>, count: number): Map<number, number> {
  const all = [...held.values()]
  const queues = all.filter(({ hasQueue }) => hasQueue).length
  const uncertain = Math.max(0, count - all.reduce((sum, { certain }) => sum + certain, 0))
  return new Map(
    [...held].map(([pid, { certain, hasQueue }]) => [pid, certain + (hasQueue ? Math.ceil(uncertain / queues) : 0)]),
  )
}
