import { because } from '#manager/contract'
import { readKernelText } from '../read-kernel-text.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { type Log } from '../log.ts'
import { inotifyUse, processesOf } from './container-processes.ts'
import { type InotifyLimits, processesToEnd, type ProcessUse } from './inotify-rules.ts'
import { type Stop } from './stop.ts'

export interface InotifyGuardDeps {
  readonly running: () => readonly RunningKernel[]
  readonly stop: Stop
  readonly log: Log
  readonly readLimits?: () => InotifyLimits | undefined
}

/** A session whose processes were ended this often within `REPEAT_MS` does so on purpose, and is ended itself. */
const STRIKES = 3
const REPEAT_MS = 60_000
/** Maximum number of descriptors of one session read in one look. */
const DESCRIPTORS = 50_000

/**
 * Keeps one session from using up the inotify instances and watches of all: the kernel counts them per user, and all sessions
 * of a host run as the same user. The kernel has no limit per container, so this guard examines the processes.
 *
 * Threat model: the session is hostile. It may hide instances behind many descriptors (a look examines a limited number, in
 * random order), and take everything again at once, against which the strikes work. Between two looks, other sessions may be
 * refused.
 */
export function createInotifyGuard({ running, stop, log, readLimits = limitsOfHost }: InotifyGuardDeps): {
  check(): Promise<void>
} {
  const strikes = new Map<string, number[]>()

  function strike(kernelId: string): boolean {
    const now = performance.now()
    const recent = [...(strikes.get(kernelId) ?? []).filter(at => now - at < REPEAT_MS), now]
    strikes.set(kernelId, recent)
    return recent.length >= STRIKES
  }

  return {
    async check() {
      const kernels = running()
      for (const kernelId of strikes.keys()) {
        if (!kernels.some(kernel => kernel.kernelId === kernelId)) strikes.delete(kernelId)
      }
      const limits = readLimits()
      if (!limits || kernels.length === 0) return
      const uses: ProcessUse[] = []
      for (const kernel of kernels) uses.push(...(await usesOf(kernel)))
      const greedy = processesToEnd(uses, limits, kernels.length)
      for (const [kernelId, processes] of Map.groupBy(greedy, ({ kernelId }) => kernelId)) {
        const kernel = kernels.find(candidate => candidate.kernelId === kernelId)
        if (!kernel) continue
        const present = new Set(processesOf(kernel.pid, kernel.containerId))
        for (const { pid } of processes) if (present.has(pid)) kill(pid)
        log.warn(
          { kernelId, processes: processes.length },
          'processes ended: they held most inotify instances or watches',
        )
        if (!strike(kernelId)) continue
        const { why: message, ...key } = because('inotify_used_up', {
          instances: limits.instances,
          watches: limits.watches,
        })
        await stop(kernelId, {
          code: 'host_limit',
          message,
          ...key,
        })
      }
    },
  }
}

/** Examines processes in random order: if there are too many descriptors for one look, the next look sees others. */
async function usesOf({ kernelId, pid, containerId }: RunningKernel): Promise<ProcessUse[]> {
  const uses: ProcessUse[] = []
  let left = DESCRIPTORS
  for (const process of shuffled(processesOf(pid, containerId))) {
    if (left <= 0) break
    const { looked, ...use } = await inotifyUse(process, left)
    left -= looked
    if (use.instances > 0) uses.push({ kernelId, pid: process, ...use })
  }
  return uses
}

function shuffled(pids: readonly number[]): number[] {
  return pids
    .map(pid => ({ pid, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ pid }) => pid)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended in the meantime.
  }
}

function limitsOfHost(): InotifyLimits | undefined {
  const [instances, watches] = ['max_user_instances', 'max_user_watches'].map(name =>
    Number(readKernelText(`/proc/sys/fs/inotify/${name}`)),
  )
  return instances && watches ? { instances, watches } : undefined
}
