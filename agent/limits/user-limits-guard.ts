import { because, type Because } from '#manager/contract'
import { type SessionUser } from '../docker/container-config.ts'
import { readKernelText } from '../read-kernel-text.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { type Log } from '../log.ts'
import { processesOf } from './container-processes.ts'
import { descriptorUse } from './descriptor-use.ts'
import { hiddenSockets } from './hidden-sockets.ts'
import { hasMoreInFlight } from './in-flight-probe.ts'
import { signalsByProcess, signalsOfUser } from './pending-signal-rules.ts'
import { heldSignals } from './pending-signals.ts'
import {
  type Counted,
  type Counts,
  PRESSURE,
  processesToEnd,
  processLimits,
  type ProcessUse,
} from './user-limits-rules.ts'
import { type Stop } from './stop.ts'

export interface UserLimitsGuardDeps {
  readonly running: () => readonly RunningKernel[]
  readonly stop: Stop
  readonly log: Log
  readonly readLimits?: (kernels: readonly RunningKernel[]) => Counts
}

/** A session whose processes were ended this often within `REPEAT_MS` does so on purpose, and is ended itself. */
const STRIKES = 3
const REPEAT_MS = 60_000

/**
 * Keeps one session from using up what the kernel counts per user: all sessions of a host run as the same user, and the kernel has no
 * limit per container. So this guard examines the processes.
 *
 * Threat model: the session is hostile. It may hide what it holds behind many descriptors, against which a look takes samples, and take
 * everything again at once, against which the strikes work. Between two looks, other sessions may be refused. A socket that is in flight
 * itself belongs to no process, and what waits in it is not seen: where such sockets stay, and the user has in fact too many descriptors in
 * flight, the session that has most of these sockets is ended.
 */
export function createUserLimitsGuard({ running, stop, log, readLimits = limitsOfHost }: UserLimitsGuardDeps): {
  check(): Promise<void>
} {
  const strikes = new Map<string, number[]>()
  /** Hidden sockets of the last look, by kernel. */
  let hidden = new Map<string, Set<string>>()

  function strike(kernelId: string): boolean {
    const now = performance.now()
    const recent = [...(strikes.get(kernelId) ?? []).filter(at => now - at < REPEAT_MS), now]
    strikes.set(kernelId, recent)
    return recent.length >= STRIKES
  }

  const end = async (kernelId: string, what: Counted, limits: Counts) => {
    const { why: message, ...key } = usedUp(what, limits)
    await stop(kernelId, { code: 'host_limit', message, ...key })
  }

  /** Ends the session with most of the hidden sockets that were there at the last look too, if the user has too much in flight. */
  async function endHider(
    kernels: readonly RunningKernel[],
    found: ReadonlyMap<string, ReadonlySet<string>>,
    limits: Counts,
  ): Promise<void> {
    const suspects = kernels
      .map(({ kernelId, pid }) => ({
        kernelId,
        pid,
        sockets: [...(found.get(kernelId) ?? [])].filter(inode => hidden.get(kernelId)?.has(inode)).length,
      }))
      .filter(({ sockets }) => sockets > 0)
    const [worst] = suspects.toSorted((a, b) => b.sockets - a.sockets)
    if (!worst) return
    const user = userOf(worst.pid)
    if (!user || !(await hasMoreInFlight(Math.floor(limits.inFlight * PRESSURE), user))) return
    log.warn({ kernelId: worst.kernelId, sockets: worst.sockets }, 'session ended: it hides descriptors in flight')
    await end(worst.kernelId, 'inFlight', limits)
  }

  return {
    async check() {
      const kernels = running()
      for (const kernelId of strikes.keys()) {
        if (!kernels.some(kernel => kernel.kernelId === kernelId)) strikes.delete(kernelId)
      }
      if (kernels.length === 0) return
      const limits = readLimits(kernels)
      const uses: ProcessUse[] = []
      const owners = new Map<number, string>()
      const nowHidden = new Map<string, Set<string>>()
      for (const { kernelId, pid, containerId } of kernels) {
        const processes = processesOf(pid, containerId)
        for (const process of processes) owners.set(process, kernelId)
        const { counts, sockets } = await descriptorUse(processes)
        for (const [process, use] of counts) uses.push({ kernelId, pid: process, ...use, signals: 0 })
        nowHidden.set(kernelId, await hiddenSockets(pid, sockets))
      }
      for (const [process, signals] of await signalUse(kernels, [...owners.keys()], limits.signals)) {
        const kernelId = owners.get(process)
        if (kernelId !== undefined) uses.push({ kernelId, pid: process, ...NOTHING, signals })
      }
      const greedy = processesToEnd(uses, limits, kernels.length)
      for (const [kernelId, processes] of Map.groupBy(greedy, ({ kernelId }) => kernelId)) {
        const kernel = kernels.find(candidate => candidate.kernelId === kernelId)
        const [first] = processes
        if (!kernel || !first) continue
        const present = new Set(processesOf(kernel.pid, kernel.containerId))
        for (const { pid } of processes) if (present.has(pid)) kill(pid)
        log.warn(
          { kernelId, processes: processes.length, what: first.what },
          'processes ended: they held most of what all sessions share',
        )
        if (strike(kernelId)) await end(kernelId, first.what, limits)
      }
      if (!greedy.some(({ what }) => what === 'inFlight')) await endHider(kernels, nowHidden, limits)
      hidden = nowHidden
    },
  }
}

const NOTHING: Counts = { instances: 0, watches: 0, epollWatches: 0, inFlight: 0, signals: 0 }

/** Pending signals by process, which are looked at only while the user of sessions has many: the kernel tells their number at once. */
async function signalUse(
  kernels: readonly RunningKernel[],
  processes: readonly number[],
  limit: number,
): Promise<ReadonlyMap<number, number>> {
  const count = Math.max(...kernels.map(({ pid }) => signalsOfUser(readKernelText(`/proc/${pid}/status`))))
  return count <= limit * PRESSURE ? new Map() : signalsByProcess(await heldSignals(processes), count)
}

function usedUp(what: Counted, { instances, watches, epollWatches, inFlight, signals }: Counts): Because {
  if (what === 'signals') return because('signals_used_up', { signals })
  if (what === 'epollWatches') return because('epoll_used_up', { watches: epollWatches })
  if (what === 'inFlight') return because('in_flight_used_up', { descriptors: inFlight })
  return because('inotify_used_up', { instances, watches })
}

/** User of a process, as this host numbers it: in a user namespace, the container has another number for it. */
function userOf(pid: number): SessionUser | undefined {
  const status = readKernelText(`/proc/${pid}/status`)
  const [uid, gid] = ['Uid', 'Gid'].map(name => new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended in the meantime.
  }
}

function limitsOfHost(kernels: readonly RunningKernel[]): Counts {
  const read = (name: string) => Number(readKernelText(`/proc/sys/fs/${name}`)) || Infinity
  return {
    instances: read('inotify/max_user_instances'),
    watches: read('inotify/max_user_watches'),
    epollWatches: read('epoll/max_user_watches'),
    ...processLimits(kernels.map(({ pid }) => readKernelText(`/proc/${pid}/limits`))),
  }
}
