/**
 * Things that the kernel counts per user, and so for all sessions of a host together (docs/adr/0020-shared-limits.md):
 *
 * - `instances`, `watches`: of inotify. @see inotify(7)
 * - `epollWatches`: descriptors registered with epoll. @see epoll(7), max_user_watches
 * - `inFlight`: descriptors sent over Unix sockets and not received yet. @see unix(7), ETOOMANYREFS
 * - `signals`: pending signals, and timers. @see timer_create(2), RLIMIT_SIGPENDING
 */
export const COUNTED = ['instances', 'watches', 'epollWatches', 'inFlight', 'signals'] as const
export type Counted = (typeof COUNTED)[number]
export type Counts = Readonly<Record<Counted, number>>

/** Use of one process of a session. */
export interface ProcessUse extends Counts {
  readonly kernelId: string
  readonly pid: number
}

export interface ToEnd {
  readonly kernelId: string
  readonly pid: number
  /** The thing of which the process had too much. */
  readonly what: Counted
}

/** Above this share of a limit, the greediest session is cut back. The remainder stays free for other sessions. */
export const PRESSURE = 0.75

/**
 * Chooses the processes that must end so that every session can still use what all share. Pure.
 *
 * Nothing happens below three quarters of a limit. Above it, the session with the most loses its greediest process, again and
 * again until the sum is below; a session within its fair share (three quarters of the limit, divided by the sessions that run) is
 * never touched.
 *
 * @param limits Infinity where the kernel has none
 */
export function processesToEnd(uses: readonly ProcessUse[], limits: Counts, sessions: number): ToEnd[] {
  const ended = new Map<number, ToEnd>()
  for (const what of COUNTED) {
    const bearable = limits[what] * PRESSURE
    const share = bearable / Math.max(1, sessions)
    const left = uses.filter(use => use[what] > 0 && !ended.has(use.pid))
    const held = [...Map.groupBy(left, use => use.kernelId).values()].map(ofSession => ({
      // The greediest process last.
      processes: ofSession.toSorted((a, b) => a[what] - b[what]),
      sum: sum(ofSession, what),
    }))
    let total = sum(left, what)
    while (total > bearable) {
      const greediest = held.reduce((most, one) => (one.sum > most.sum ? one : most))
      const worst = greediest.sum > share ? greediest.processes.pop() : undefined
      if (!worst) break
      ended.set(worst.pid, { kernelId: worst.kernelId, pid: worst.pid, what })
      greediest.sum -= worst[what]
      total -= worst[what]
    }
  }
  return [...ended.values()]
}

function sum(uses: readonly ProcessUse[], what: Counted): number {
  return uses.reduce((total, use) => total + use[what], 0)
}

/** Usual limits, or less. With smaller ones a session could make others look greedy. */
const LEAST = { inFlight: 1024, signals: 4096 }

/**
 * Limits that are those of a process, and are compared with the count of the user: the first session is refused more at the lowest of
 * them.
 *
 * @param limits text of /proc/PID/limits of the main process of each session. A session can lower its own, which makes the guard stricter
 *   down to `LEAST`, and raise it, which changes nothing as long as another session has the usual one.
 */
export function processLimits(limits: readonly string[]): Pick<Counts, 'inFlight' | 'signals'> {
  const lowest = (name: string) =>
    Math.min(...limits.map(text => Number(new RegExp(`^${name}\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Infinity)))
  return {
    // The kernel takes the limit of open files for that of descriptors in flight.
    inFlight: Math.max(LEAST.inFlight, lowest('Max open files')),
    signals: Math.max(LEAST.signals, lowest('Max pending signals')),
  }
}
