/** The kernel's limits for one user, and so for all sessions of a host together. @see inotify(7) */
export interface InotifyLimits {
  readonly instances: number
  readonly watches: number
}

/** inotify use of one process of a session. */
export interface ProcessUse {
  readonly kernelId: string
  readonly pid: number
  readonly instances: number
  readonly watches: number
}

/** Above this share of a limit, the greediest session is cut back. The remainder stays free for other sessions. */
const PRESSURE = 0.75

/**
 * Chooses the processes that must end so that every session can still watch files. Pure.
 *
 * Nothing happens below three quarters of a limit. Above it, the session with the most loses its greediest process, again and
 * again until the sum is below; a session within its fair share (three quarters of the limit, divided by the sessions that run) is
 * never touched.
 */
export function processesToEnd(
  uses: readonly ProcessUse[],
  limits: InotifyLimits,
  sessions: number,
): { readonly kernelId: string; readonly pid: number; readonly what: keyof InotifyLimits }[] {
  const ended = new Map<number, { kernelId: string; pid: number; what: keyof InotifyLimits }>()
  for (const what of ['instances', 'watches'] as const) {
    const bearable = limits[what] * PRESSURE
    const share = bearable / Math.max(1, sessions)
    for (;;) {
      const left = uses.filter(({ pid }) => !ended.has(pid))
      if (sum(left, what) <= bearable) break
      const [greediest] = [...Map.groupBy(left, use => use.kernelId)].toSorted(
        ([, a], [, b]) => sum(b, what) - sum(a, what),
      )
      if (!greediest || sum(greediest[1], what) <= share) break
      const [worst] = greediest[1].toSorted((a, b) => b[what] - a[what])
      if (!worst) break
      ended.set(worst.pid, { kernelId: worst.kernelId, pid: worst.pid, what })
    }
  }
  return [...ended.values()]
}

function sum(uses: readonly ProcessUse[], what: keyof InotifyLimits): number {
  return uses.reduce((total, use) => total + use[what], 0)
}
