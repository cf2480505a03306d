import { type StoppedFor } from '#agent/contract'
import { sizeText } from '#base/size-text'
import { because, type Because } from '#manager/contract'
import { type WatchedShares } from '../gpu/device-view.ts'
import { type Devices } from '../gpu/devices.ts'
import { type GpuProcess } from '../gpu/gpu-plugin.ts'
import { type Log } from '../log.ts'
import { type RunningKernel } from '../running-kernel.ts'
import { groupsOfProcesses } from '../stats/gpu-stats.ts'
import {
  divideUse,
  type GpuUse,
  judgeShare,
  noteUnclaimed,
  type OwnedProcess,
  type Standing,
  type Unclaimed,
} from './gpu-share-rules.ts'
import { type GpuGuardMode } from '../gpu/gpu-guard-mode.ts'
import { type Stop } from './stop.ts'

export type GpuSharesSource = Pick<Devices, 'guarded' | 'measure' | 'processes' | 'sharesOf' | 'noteShares'>

export interface GpuGuardDeps {
  readonly running: () => readonly RunningKernel[]
  readonly devices: GpuSharesSource
  /** `end`: warn and end; `warn`: only warn. */
  readonly guard: GpuGuardMode
  /** Tells the owner of a session, which runs on. */
  readonly warn: (kernelId: string, why: Because) => void
  readonly stop: Stop
  readonly log: Log
  readonly signal: AbortSignal
  /** Makes a reader of /proc/PID/cgroup for one look. */
  readonly groupsOf?: typeof groupsOfProcesses
  readonly now?: () => number
}

type Holder = Pick<RunningKernel, 'kernelId' | 'containerId' | 'pid'> & { readonly shareBytes: number }

interface Watched {
  unclaimed: Unclaimed | undefined
  measuredAt: number
  found: WatchedShares
  /** Looks in a row that the driver did not answer. */
  silent: number
  readonly standings: Map<string, Standing>
}

/** Interval between looks at the memory of the whole GPU, which cost one more run of nvidia-smi. */
const MEASURE_EVERY_MS = 1_000
/** After so many looks without an answer, shares of the GPU do not count as guarded. */
const MOST_SILENT = 3
/** Interval between warnings of a session that stays above its share and is not ended. */
const WARN_AGAIN_MS = 60_000

/**
 * Ends the session that uses more memory of a shared GPU than its share, where the driver does not refuse it (docs/adr/0083-guard-of-gpu-shares.md).
 * Call it about twice a second: each look is one run of nvidia-smi, and every second one is two. It does nothing while no session holds such a share.
 *
 * Threat model: the session is hostile and fast. Between two looks it may take all memory that is free; what it takes is free again when it
 * has ended. It cannot hide ordinary allocations: the driver lists its processes with numbers of the host, and their control groups name the
 * container. Managed memory is in no process's figure, and is attributed only where one session alone has processes on the GPU.
 */
export function createGpuGuard(deps: GpuGuardDeps): { check(): Promise<void> } {
  const { running, devices, guard, warn, stop, log, signal } = deps
  const { groupsOf = groupsOfProcesses, now = () => performance.now() } = deps
  const watched = new Map<string, Watched>()
  const warnedAt = new Map<string, number>()
  /** Sessions that are being ended: the engine takes long where a driver holds on to a program. */
  const ending = new Set<string>()
  let lookedAt = now()

  function holdersOf(kernels: readonly RunningKernel[]): Map<string, Holder[]> {
    const guarded = new Set(devices.guarded())
    const holders = kernels.flatMap(({ kernelId, containerId, pid, shares }) =>
      devices
        .sharesOf({ devices: shares })
        .filter(({ uuid }) => guarded.has(uuid))
        .map(({ uuid, hundredths, memBytes }) => ({
          uuid,
          holder: { kernelId, containerId, pid, shareBytes: (memBytes * hundredths) / 100 },
        })),
    )
    const byGpu = Map.groupBy(holders, ({ uuid }) => uuid)
    return new Map([...byGpu].map(([uuid, list]) => [uuid, list.map(({ holder }) => holder)]))
  }

  function forgetOthers(holders: ReadonlyMap<string, readonly Holder[]>): void {
    for (const [uuid, { standings, found }] of watched) {
      const ids = new Set(holders.get(uuid)?.map(({ kernelId }) => String(kernelId)))
      for (const kernelId of standings.keys()) if (!ids.has(kernelId)) standings.delete(kernelId)
      if (ids.size > 0) continue
      watched.delete(uuid)
      // A host that hides the processes of one session hides those of the next.
      devices.noteShares(uuid, found.blind ? { blind: found.blind } : {})
    }
    const all = new Set([...holders.values()].flat().map(({ kernelId }) => String(kernelId)))
    for (const kernelId of warnedAt.keys()) if (!all.has(kernelId)) warnedAt.delete(kernelId)
  }

  function stateOf(uuid: string): Watched {
    const fresh = { unclaimed: undefined, measuredAt: -Infinity, found: {}, silent: 0, standings: new Map() }
    const state: Watched = watched.get(uuid) ?? fresh
    watched.set(uuid, state)
    return state
  }

  function judge(uuid: string, { kernelId, shareBytes }: Holder, use: GpuUse, elapsedMs: number): void {
    if (ending.has(kernelId)) return
    const { standings } = stateOf(uuid)
    const own = use.byKernel.get(kernelId) ?? { bytes: 0, processes: 0 }
    const { standing, verdict } = judgeShare(standings.get(kernelId), own, { shareBytes, elapsedMs })
    standings.set(kernelId, standing)
    if (verdict === 'within') return
    if (verdict === 'end' && guard === 'end') {
      standings.delete(kernelId)
      const { why: message, ...key } = passed(own.bytes, shareBytes, use.attributed)
      log.warn({ kernelId, uuid, message }, 'session ended: memory of a shared GPU')
      end(kernelId, { code: 'gpu_limit', message, ...key })
    } else tell(kernelId, own.bytes, shareBytes)
  }

  /** The looks go on meanwhile: a session that cannot be ended must not shield others. */
  function end(kernelId: string, why: StoppedFor): void {
    ending.add(kernelId)
    void stop(kernelId, why)
      .catch((error: unknown) => log.error({ kernelId, err: error }, 'the GPU share of a session cannot be enforced'))
      .finally(() => ending.delete(kernelId))
  }

  function tell(kernelId: string, bytes: number, shareBytes: number): void {
    if (now() - (warnedAt.get(kernelId) ?? -Infinity) < WARN_AGAIN_MS) return
    warnedAt.set(kernelId, now())
    const amounts = { used: sizeText(bytes), share: sizeText(shareBytes) }
    const why = guard === 'end' ? because('gpu_share_warned', amounts) : because('gpu_share_told', amounts)
    log.warn({ kernelId, message: why.why }, 'session warned: memory of a shared GPU')
    warn(kernelId, why)
  }

  return {
    async check() {
      const holders = holdersOf(running())
      forgetOthers(holders)
      const startedAt = now()
      const elapsedMs = startedAt - lookedAt
      lookedAt = startedAt
      if (holders.size === 0) return
      const uuids = [...holders.keys()]
      const due = uuids.filter(uuid => startedAt - stateOf(uuid).measuredAt >= MEASURE_EVERY_MS)
      const [processes, figures] = await Promise.all([
        devices.processes(uuids, signal),
        due.length > 0 ? devices.measure(signal) : [],
      ])
      const groupOf = groupsOf()
      for (const [uuid, list] of holders) {
        const state = stateOf(uuid)
        const listed = processes.get(uuid)
        state.silent = listed ? 0 : state.silent + 1
        if (!listed) {
          if (state.silent >= MOST_SILENT) devices.noteShares(uuid, { blind: because('guard_without_answer') })
          continue
        }
        const owned = listed.map(process => ownedBy(process, list, groupOf))
        const usedBytes = figures.find(one => one.uuid === uuid)?.memBytes ?? null
        if (due.includes(uuid) && usedBytes !== null) {
          state.unclaimed = noteUnclaimed(state.unclaimed, usedBytes, owned)
          state.measuredAt = startedAt
        }
        const use = divideUse(owned, state.unclaimed)
        state.found = findings(list, owned, use, groupOf)
        devices.noteShares(uuid, state.found)
        for (const holder of list) judge(uuid, holder, use, elapsedMs)
      }
    },
  }
}

function ownedBy(
  { pid, memBytes }: GpuProcess,
  holders: readonly Holder[],
  groupOf: (pid: number) => string,
): OwnedProcess {
  const group = groupOf(pid)
  const kernelId = holders.find(({ containerId }) => group.includes(containerId))?.kernelId
  // A process without a group has just ended.
  return { kernelId, memBytes, isOfOthers: kernelId === undefined && group !== '' }
}

/** Obstacles of the guard, and memory that it cannot attribute. */
function findings(
  holders: readonly Holder[],
  owned: readonly OwnedProcess[],
  { unattributed }: GpuUse,
  groupOf: (pid: number) => string,
): WatchedShares {
  // The main process has ended at times, and its kernel is still in the list; only sessions of which none is seen prove that none can be.
  const isSeen = holders.some(({ pid, containerId }) => groupOf(pid).includes(containerId))
  if (!isSeen) return { blind: because('guard_without_processes') }
  const ofSessions = owned.filter(({ kernelId }) => kernelId !== undefined)
  if (ofSessions.length > 0 && ofSessions.every(({ memBytes }) => memBytes === null))
    return { blind: because('guard_without_figures') }
  return unattributed > 0 ? { unattributed } : {}
}

function passed(bytes: number, shareBytes: number, attributed: number): Because {
  const amounts = { used: sizeText(bytes), share: sizeText(shareBytes) }
  return attributed > 0
    ? because('gpu_share_passed_unclaimed', { ...amounts, unclaimed: sizeText(attributed) })
    : because('gpu_share_passed', amounts)
}
