import { type RunningKernel } from '../running-kernel.ts'
import { processesOf, writtenBy } from './container-processes.ts'
import { type Area, areasOf, deletedByArea, NONE, withFolders } from './disk-areas.ts'
import { type Amount, type DiskLimits } from './disk-rules.ts'
import { diskUse } from './disk-use.ts'
import { createFolderUse } from './folder-use.ts'
import { freeze } from './freeze.ts'

/** The measured use of a session. */
export interface Watched {
  readonly since: number
  areas: Area[]
  measuredAt: number
  tookMs: number
  /** Time of the last measurement for which it was stopped. */
  frozenAt: number
  /** Time at which the disk lost space while it was stopped. */
  clearedAt: number
}

export interface WatchedSessionsDeps {
  readonly running: () => readonly RunningKernel[]
  readonly homeOf: (kernelId: string) => string
  /** Limits of a home, and of everything that the session writes outside it. */
  readonly limits: DiskLimits
  readonly signal: AbortSignal
  /** Left out: by its control group. */
  readonly processes?: (kernel: RunningKernel) => number[]
  /** Space below a directory. Left out: by `du`. */
  readonly measure?: typeof diskUse
  /** The others wait so long for a session with very many files. Left out: 5 s. */
  readonly patienceMs?: number
  /** Stops the processes of a session while it is measured. Left out: by its control group. */
  readonly freeze?: (kernel: RunningKernel) => Promise<AsyncDisposable | undefined>
}

/** The sessions of this host with what they use of disks. */
export interface WatchedSessions {
  readonly all: Map<string, Watched>
  /** Measures new sessions, and forgets those that have ended. */
  follow(): Promise<void>
  /** Measures each session whose turn it is. @param short devices that are short of space */
  measure(short: ReadonlySet<number>): Promise<void>
  /** Measures a session while its processes cannot move files. */
  measureStopped(kernelId: string): Promise<void>
  /** Measures a session that is stopped. */
  measureNow(state: Watched): Promise<void>
  kernelOf(kernelId: string): RunningKernel | undefined
  /** Bytes that the processes of a session have written since they began. */
  wroteOf(kernelId: string): number
  /** Stops the processes of a session; undefined if that is impossible. */
  stopProcesses(kernel: RunningKernel): Promise<AsyncDisposable | undefined>
}

const MEASURE_AMPLE_MS = 60_000
const MEASURE_LIMITED_MS = 10_000
/** Pause between two measurements, as a multiple of the last one's duration: measuring takes at most a twentieth of one core. */
const REST = 20
/** Like `REST`, while the disk is short of space. */
const REST_SHORT = 5
/** A session with very many files is measured beside the rest after this time, and its size is used when it is known. */
const PATIENCE_MS = 5_000
const FOLDER_PATIENCE_MS = 1_000
/** Sessions with very many files that are measured beside the rest; if there are more, the rest waits for them. */
const MOST_SLOW = 8
const MOST_FOLDERS = 2
/** A session is stopped for at most this long. */
const FROZEN_MS = 5_000

/**
 * Measures sessions once a minute, every 10 seconds if sessions have limits, and as often as REST_SHORT permits when space is short.
 */
export function createWatchedSessions(deps: WatchedSessionsDeps): WatchedSessions {
  const { running, homeOf, limits, signal, patienceMs = PATIENCE_MS, measure: useBelow = diskUse } = deps
  const { processes = ({ pid, containerId }) => processesOf(pid, containerId) } = deps
  const { freeze: stopProcesses = ({ pid, containerId }: RunningKernel) => freeze(pid, containerId) } = deps
  const all = new Map<string, Watched>()
  const folders = createFolderUse({ signal, measure: useBelow, patienceMs: FOLDER_PATIENCE_MS, most: MOST_FOLDERS })
  const homes = createFolderUse({ signal, measure: useBelow, patienceMs, most: MOST_SLOW })
  const pauseMs = limits.bytes === undefined && limits.inodes === undefined ? MEASURE_AMPLE_MS : MEASURE_LIMITED_MS
  const kernelOf = (kernelId: string) => running().find(one => one.kernelId === kernelId)

  async function measure(kernel: RunningKernel, isShort: boolean): Promise<void> {
    const { kernelId } = kernel
    const startedAt = performance.now()
    const known = all.get(kernelId)
    const never = { measuredAt: -Infinity, tookMs: 0, frozenAt: -Infinity, clearedAt: -Infinity }
    const state = known ?? { areas: await areasOf(kernel, homeOf(kernelId)), since: startedAt, ...never }
    all.set(kernelId, state)
    const rest = isShort ? REST_SHORT * state.tookMs : Math.max(pauseMs, REST * state.tookMs)
    if (startedAt - state.measuredAt < rest) return
    state.areas = await withFolders(state.areas, kernel.pid, isShort)
    const deleted = await deletedByArea(kernel.pid, state.areas, processes(kernel))
    for (const area of state.areas) {
      const now = await useOf(area)
      if (!now) continue
      area.now = now
      // While there is enough space, slow growth is not the cause of a full disk: reset the baseline.
      if (!area.before || !isShort) area.before = now
    }
    state.measuredAt = performance.now()
    state.tookMs = state.measuredAt - startedAt

    function useOf(area: Area): Promise<Amount | undefined> | Amount {
      if (area.kind === 'deleted') return deleted.get(area.device) ?? NONE
      const pace = { rest: isShort ? REST_SHORT : REST, since: state.since }
      if (area.kind === 'folder') return folders.of(area.path, pace)
      return homes.isFull() ? useBelow(area.path, signal) : homes.of(area.path, pace)
    }
  }

  /** Measures a session that is stopped. */
  async function measureNow(state: Watched): Promise<void> {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(FROZEN_MS)])
    for (const area of state.areas) {
      const now = area.kind === 'deleted' ? undefined : await useBelow(area.path, inTime)
      if (!now) continue
      area.now = now
      area.before ??= now
    }
  }

  return {
    all,
    async follow() {
      const kernels = running()
      for (const kernelId of all.keys()) {
        if (!kernels.some(kernel => kernel.kernelId === kernelId)) all.delete(kernelId)
      }
      for (const kernel of kernels) if (!all.has(kernel.kernelId)) await measure(kernel, false)
    },
    async measure(short) {
      for (const kernel of running()) {
        const devices = all.get(kernel.kernelId)?.areas.map(({ device }) => device) ?? []
        await measure(
          kernel,
          devices.some(device => short.has(device)),
        )
      }
      const paths = new Set([...all.values()].flatMap(({ areas }) => areas.map(({ path }) => path)))
      for (const one of [folders, homes]) one.keep(paths)
    },
    async measureStopped(kernelId) {
      const [state, kernel] = [all.get(kernelId), kernelOf(kernelId)]
      if (!state || !kernel) return
      state.frozenAt = performance.now()
      await using stopped = await stopProcesses(kernel)
      if (stopped) await measureNow(state)
    },
    measureNow,
    kernelOf,
    wroteOf(kernelId) {
      const kernel = kernelOf(kernelId)
      return kernel ? writtenBy(processes(kernel)) : 0
    },
    stopProcesses,
  }
}
