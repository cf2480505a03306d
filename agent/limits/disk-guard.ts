import { readFile, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type Because } from '#manager/contract'
import { type RunningKernel } from '../running-kernel.ts'
import { type Log } from '../log.ts'
import {
  type Amount,
  type DiskLimits,
  filler,
  type Growth,
  hiddenFiller,
  inodeFloor,
  isUnexplained,
  overLimit,
} from './disk-rules.ts'
import { processesOf, writtenBy } from './container-processes.ts'
import { deletedUse } from './deleted-files.ts'
import { diskUse, type FileSystem, fileSystemOf, writableLayer } from './disk-use.ts'
import { createFolderUse } from './folder-use.ts'
import { freeze } from './freeze.ts'
import { foldersBesideHome } from './session-folders.ts'
import { type Stop } from './stop.ts'
import { tryStopping } from './stop-trial.ts'

export interface DiskGuardDeps {
  readonly running: () => readonly RunningKernel[]
  readonly homeOf: (kernelId: string) => string
  /** Free space kept as a reserve for all sessions. */
  readonly floorBytes: number
  /** Limits of a home, and of everything that the session writes outside it. */
  readonly limits: DiskLimits
  /** The part of the limits that the home's file system does not enforce; called only for a home above the limits. */
  readonly homeLimits: (kernelId: string) => Promise<DiskLimits>
  readonly stop: Stop
  readonly log: Log
  readonly signal: AbortSignal
  /** Left out: by its control group. */
  readonly processes?: (kernel: RunningKernel) => number[]
  /** Space below a directory. Left out: by `du`. */
  readonly measure?: typeof diskUse
  /** The others wait so long for a session with very many files. Left out: 5 s. */
  readonly patienceMs?: number
  /** Stops the processes of a session while it is measured. Left out: by its control group. */
  readonly freeze?: (kernel: RunningKernel) => Promise<AsyncDisposable | undefined>
  /** Left out: `tryStopping`. */
  readonly trial?: typeof tryStopping
}

/** Above this multiple of the floor, sessions are measured only occasionally. */
const AMPLE = 4
/** The disk counts as short of space if, at its present rate, it reaches the floor within this many checks. */
const AHEAD_LOOKS = 10
const MEASURE_AMPLE_MS = 60_000
const MEASURE_LIMITED_MS = 10_000
const NONE: Amount = { bytes: 0, inodes: 0 }
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
/** Pause between two times at which a session is stopped. */
const FREEZE_AGAIN_MS = 60_000
/** Most sessions that one check stops, one after the other: the disk fills meanwhile. */
const MOST_STOPPED = 8
/** Part of the floor that a session must take between two stops to be found out by them. */
const TRIAL = 1 / 64

interface Area {
  /** Files of folders and deleted files that are still open count only towards who fills a disk, not towards limits of the session. */
  readonly kind: 'home' | 'outside' | 'folder' | 'deleted'
  /** For deleted files: any directory on their file system. */
  readonly path: string
  readonly device: number
  /** Undefined before the first measurement. */
  before: Amount | undefined
  now: Amount
}

interface Watched {
  readonly since: number
  areas: Area[]
  measuredAt: number
  tookMs: number
  /** Time of the last measurement for which it was stopped. */
  frozenAt: number
  /** Time at which the disk lost space while it was stopped. */
  clearedAt: number
}

interface Watermark {
  left: Amount
  /** Free space when there was enough the last time, or when a session was ended since. */
  room: Amount
  /** Bytes that the processes of each session had written then, or when space became short. */
  readonly written: Map<string, number>
  /** Free space when a session was last ended, until it has recovered. */
  endedAt: Amount | undefined
}

/**
 * Ends the session that fills a disk before other sessions cannot write, and sessions that exceed their own limit. Homes and everything
 * that sessions write outside them (/tmp, installed packages) count, and for who fills a disk also folders on it that the session can write
 * to, and deleted files that it holds open. Free space is checked with every call. The use of each session is measured once a minute, every
 * 10 seconds if sessions have limits, and as often as REST_SHORT permits when space is short.
 *
 * Threat model: the session is hostile and fast. Between two checks it may write as much as the disk accepts; the floor is the safety
 * margin. Growth counts, not size: the owner of a large old folder is not ended for what others write. A folder counts for each session
 * that can write to it; of these, the one whose processes have written most is ended first. A session can move files past a walk of its
 * tree, so what no session seems to have taken is looked for again, in one session after the other, while its processes are stopped. What
 * is not found then was taken by a session whose processes have written as much, if the loss stops whenever that session is stopped.
 */
export function createDiskGuard(deps: DiskGuardDeps): { check(): Promise<void> } {
  const { running, homeOf, floorBytes, limits, homeLimits, stop, log, signal } = deps
  const { processes = ({ pid, containerId }) => processesOf(pid, containerId), measure: useBelow = diskUse } = deps
  const { patienceMs = PATIENCE_MS } = deps
  const { freeze: stopProcesses = ({ pid, containerId }: RunningKernel) => freeze(pid, containerId) } = deps
  const { trial = tryStopping } = deps
  const watched = new Map<string, Watched>()
  const marks = new Map<number, Watermark>()
  const folders = createFolderUse({ signal, measure: useBelow, patienceMs: FOLDER_PATIENCE_MS, most: MOST_FOLDERS })
  const homes = createFolderUse({ signal, measure: useBelow, patienceMs, most: MOST_SLOW })
  const pauseMs = limits.bytes === undefined && limits.inodes === undefined ? MEASURE_AMPLE_MS : MEASURE_LIMITED_MS

  async function areasOf(kernel: RunningKernel): Promise<Area[]> {
    const layer = await writableLayer(kernel.pid)
    const paths = [
      { kind: 'home' as const, path: homeOf(kernel.kernelId) },
      ...(layer === undefined ? [] : [{ kind: 'outside' as const, path: layer }]),
      // Volumes of the image belong to neither.
      ...(kernel.volumes ?? []).map(path => ({ kind: 'outside' as const, path })),
    ]
    const areas = await Promise.all(
      paths.map(async area => {
        const device = (await fileSystemOf(area.path))?.device ?? -1
        return { ...area, device, before: undefined, now: NONE }
      }),
    )
    const first = areas.filter(({ device }, index) => areas.findIndex(area => area.device === device) === index)
    return [...areas, ...first.map(area => ({ ...area, kind: 'deleted' as const }))]
  }

  /** Folders come and go while a session runs. What was written to one that is gone counts until there is room. */
  async function withFolders(areas: readonly Area[], pid: number, isShort: boolean): Promise<Area[]> {
    const home = areas.find(({ kind }) => kind === 'home')
    if (!home || pid === 0) return [...areas]
    const [inside, own] = await Promise.all([mountsOf(pid), mountsOf('self')])
    const found = foldersBesideHome(inside, own)
    const kept = areas.filter(({ kind, path }) => kind !== 'folder' || isShort || found.includes(path))
    const added = found.filter(path => !kept.some(area => area.kind === 'folder' && area.path === path))
    const { device } = home
    return [...kept, ...added.map(path => ({ kind: 'folder' as const, path, device, before: undefined, now: NONE }))]
  }

  async function measure(kernel: RunningKernel, isShort: boolean): Promise<void> {
    const { kernelId } = kernel
    const startedAt = performance.now()
    const known = watched.get(kernelId)
    const never = { measuredAt: -Infinity, tookMs: 0, frozenAt: -Infinity, clearedAt: -Infinity }
    const state = known ?? { areas: await areasOf(kernel), since: startedAt, ...never }
    watched.set(kernelId, state)
    const rest = isShort ? REST_SHORT * state.tookMs : Math.max(pauseMs, REST * state.tookMs)
    if (startedAt - state.measuredAt < rest) return
    state.areas = await withFolders(state.areas, kernel.pid, isShort)
    const deleted = await deletedByArea(kernel, state.areas)
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

  /** Space of deleted files, by the device of areas. */
  async function deletedByArea(kernel: RunningKernel, areas: readonly Area[]): Promise<Map<number, Amount>> {
    const layer = areas.find(({ kind }) => kind === 'outside')
    const devices = new Map(areas.map(({ device }) => [device, device]))
    // stat(2) shows the number of the overlay for files of the layer, and numbers of their own for subvolumes.
    if (layer) devices.set((await deviceOf(`/proc/${kernel.pid}/root`)) ?? -1, layer.device)
    for (const { kind, path, device } of areas) {
      if (kind === 'folder') devices.set((await deviceOf(path)) ?? -1, device)
    }
    const uses = new Map<number, Amount>()
    for (const [device, use] of await deletedUse(processes(kernel))) {
      const area = devices.get(device)
      if (area !== undefined) uses.set(area, sum([uses.get(area) ?? NONE, use]))
    }
    return uses
  }

  async function endThoseOverLimit(): Promise<void> {
    for (const [kernelId, { areas }] of watched) {
      try {
        const outside = areas.filter(({ kind }) => kind === 'outside')
        const why =
          (await excessOfHomes(kernelId, areas)) ?? overLimit(false, sum(outside.map(area => area.now)), limits)
        if (why !== undefined) await end(kernelId, why)
      } catch (error) {
        // The guard continues with the other sessions, and with the check of the whole disk.
        log.error({ kernelId, err: error }, 'the disk limit of a session cannot be enforced')
      }
    }
  }

  async function excessOfHomes(kernelId: string, areas: readonly Area[]): Promise<Because | undefined> {
    for (const { kind, now } of areas) {
      if (kind === 'home' && overLimit(true, now, limits)) return overLimit(true, now, await homeLimits(kernelId))
    }
    return undefined
  }

  const kernelOf = (kernelId: string) => running().find(one => one.kernelId === kernelId)

  function wroteOf(kernelId: string): number {
    const kernel = kernelOf(kernelId)
    return kernel ? writtenBy(processes(kernel)) : 0
  }

  function growthsOn({ device }: FileSystem, { written }: Watermark): Growth[] {
    return [...watched].map(([kernelId, { areas }]) => {
      const here = areas.filter(area => area.device === device)
      const wrote = wroteOf(kernelId)
      return {
        kernelId,
        before: sum(here.map(({ before }) => before ?? NONE)),
        now: sum(here.map(({ now }) => now)),
        wrote,
        wroteSince: here.length > 0 ? wrote - (written.get(kernelId) ?? wrote) : 0,
      }
    })
  }

  /** Sessions that have not been stopped for a while, those first whose processes have written most. */
  function suspects(sessions: readonly Growth[]): string[] {
    const isDue = (kernelId: string) =>
      performance.now() - (watched.get(kernelId)?.frozenAt ?? Infinity) >= FREEZE_AGAIN_MS
    const inOrder = sessions.toSorted((a, b) => (b.wrote ?? 0) - (a.wrote ?? 0))
    return inOrder
      .map(({ kernelId }) => kernelId)
      .filter(isDue)
      .slice(0, MOST_STOPPED)
  }

  /** Measures a session while its processes cannot move files. */
  async function lookStopped(kernelId: string): Promise<void> {
    const [state, kernel] = [watched.get(kernelId), kernelOf(kernelId)]
    if (!state || !kernel) return
    state.frozenAt = performance.now()
    await using stopped = await stopProcesses(kernel)
    if (stopped) await lookAt(state)
  }

  /** Measures a session that is stopped. */
  async function lookAt(state: Watched): Promise<void> {
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(FROZEN_MS)])
    for (const area of state.areas) {
      const now = area.kind === 'deleted' ? undefined : await useBelow(area.path, inTime)
      if (!now) continue
      area.now = now
      area.before ??= now
    }
  }

  /** Whether a file system fills while this session runs, and not while it is stopped, with bytes that are in no file of it. */
  async function isCause(kernelId: string, { device }: FileSystem): Promise<boolean> {
    const [state, kernel] = [watched.get(kernelId), kernelOf(kernelId)]
    const here = state?.areas.filter(area => area.device === device) ?? []
    const path = here.find(({ kind }) => kind !== 'folder')?.path
    if (!state || !kernel || path === undefined) return false
    if (performance.now() - state.clearedAt < FREEZE_AGAIN_MS) return false
    const finding = await trial({
      left: async () => (await fileSystemOf(path))?.left.bytes,
      stop: () => stopProcesses(kernel),
      async use() {
        await lookAt(state)
        return sum(here.map(({ now }) => now)).bytes
      },
      least: floorBytes * TRIAL,
      wait: ms => delay(ms, undefined, { signal }),
    })
    if (finding === 'other') state.clearedAt = performance.now()
    return finding === 'cause'
  }

  async function endFiller(found: FileSystem, mark: Watermark): Promise<void> {
    for (const kernelId of watched.keys())
      if (!mark.written.has(kernelId)) mark.written.set(kernelId, wroteOf(kernelId))
    const floor = floorOf(found)
    if (isAbove(found.left, floor)) {
      mark.endedAt = undefined
      return
    }
    const loss = { lost: lostSince(mark.room, found.left), floor }
    let sessions = growthsOn(found, mark)
    for (const kernelId of suspects(sessions)) {
      if (!isUnexplained(sessions, loss)) break
      await lookStopped(kernelId)
      sessions = growthsOn(found, mark)
    }
    // The files of an ended session remain for a while: end another session only if the disk keeps filling.
    const below = lower(floor, mark.endedAt)
    const hidden = hiddenFiller(sessions, found.left, below, loss)
    const isFound = hidden !== undefined && (await isCause(hidden.kernelId, found))
    const verdict = isFound ? hidden : filler(sessions, found.left, below)
    if (!verdict) return
    mark.endedAt = found.left
    mark.room = found.left
    mark.written.clear()
    for (const { areas } of watched.values())
      for (const area of areas) {
        if (area.before) area.before = area.now
      }
    await end(verdict.kernelId, verdict.why)
  }

  async function end(kernelId: string, { why: message, ...key }: Because): Promise<void> {
    watched.delete(kernelId)
    log.warn({ kernelId, message }, 'session ended: disk')
    await stop(kernelId, { code: 'disk_limit', message, ...key })
  }

  function floorOf({ inodesTotal }: FileSystem): Amount {
    return { bytes: floorBytes, inodes: inodeFloor(inodesTotal) }
  }

  function isShort({ device, left, inodesTotal }: FileSystem): boolean {
    const before = marks.get(device)?.left ?? left
    const floor = floorOf({ device, left, inodesTotal })
    return (['bytes', 'inodes'] as const).some(
      what => left[what] < AMPLE * floor[what] || left[what] - AHEAD_LOOKS * (before[what] - left[what]) < floor[what],
    )
  }

  return {
    async check() {
      const kernels = running()
      for (const kernelId of watched.keys()) {
        if (!kernels.some(kernel => kernel.kernelId === kernelId)) watched.delete(kernelId)
      }
      for (const kernel of kernels) if (!watched.has(kernel.kernelId)) await measure(kernel, false)
      const systems = await fileSystems([...watched.values()].flatMap(({ areas }) => areas))
      const short = new Set(systems.filter(isShort).map(({ device }) => device))
      for (const kernel of kernels) {
        const devices = watched.get(kernel.kernelId)?.areas.map(({ device }) => device) ?? []
        await measure(
          kernel,
          devices.some(device => short.has(device)),
        )
      }
      const paths = new Set([...watched.values()].flatMap(({ areas }) => areas.map(({ path }) => path)))
      for (const one of [folders, homes]) one.keep(paths)
      await endThoseOverLimit()
      for (const found of systems) {
        const mark = marks.get(found.device) ?? {
          left: found.left,
          room: found.left,
          written: new Map(),
          endedAt: undefined,
        }
        marks.set(found.device, mark)
        if (short.has(found.device)) await endFiller(found, mark)
        else {
          mark.endedAt = undefined
          mark.room = found.left
          mark.written.clear()
        }
        mark.left = found.left
      }
    },
  }
}

async function fileSystems(areas: readonly Area[]): Promise<FileSystem[]> {
  const paths = new Map(areas.filter(({ kind }) => kind !== 'folder').map(({ device, path }) => [device, path]))
  const found = await Promise.all([...paths.values()].map(fileSystemOf))
  return found.filter(system => system !== undefined)
}

const mountsOf = (pid: number | 'self') => readFile(`/proc/${pid}/mountinfo`, 'utf8').catch(() => '')

const deviceOf = (path: string) =>
  stat(path).then(
    ({ dev }) => dev,
    () => undefined,
  )

function isAbove(left: Amount, floor: Amount): boolean {
  return left.bytes >= floor.bytes && left.inodes >= floor.inodes
}

function lower(floor: Amount, endedAt: Amount | undefined): Amount {
  if (!endedAt) return floor
  return { bytes: Math.min(floor.bytes, endedAt.bytes), inodes: Math.min(floor.inodes, endedAt.inodes) }
}

const lostSince = (room: Amount, left: Amount): Amount => ({
  bytes: room.bytes - left.bytes,
  // Infinite where inodes are created on demand.
  inodes: Number.isFinite(room.inodes) ? room.inodes - left.inodes : 0,
})

function sum(amounts: readonly Amount[]): Amount {
  return {
    bytes: amounts.reduce((total, { bytes }) => total + bytes, 0),
    inodes: amounts.reduce((total, { inodes }) => total + inodes, 0),
  }
}
