import { type Because } from '#manager/contract'
import { type RunningKernel } from '../running-kernel.ts'
import { type Log } from '../log.ts'
import { type Amount, type DiskLimits, filler, type Growth, inodeFloor, overLimit } from './disk-rules.ts'
import { diskUse, type FileSystem, fileSystemOf, writableLayer } from './disk-use.ts'
import { type Stop } from './stop.ts'

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
}

/** Above this multiple of the floor, sessions are measured only occasionally. */
const AMPLE = 4
/** The disk counts as short of space if, at its present rate, it reaches the floor within this many checks. */
const AHEAD_LOOKS = 10
const MEASURE_AMPLE_MS = 60_000
const MEASURE_LIMITED_MS = 10_000
/** Pause between two measurements, as a multiple of the last one's duration: measuring takes at most a twentieth of one core. */
const REST = 20
/** Like `REST`, while the disk is short of space. */
const REST_SHORT = 5

interface Area {
  readonly isHome: boolean
  readonly path: string
  device: number
  before: Amount
  now: Amount
}

interface Watched {
  areas: Area[]
  measuredAt: number
  tookMs: number
}

interface Watermark {
  left: Amount
  /** Free space when a session was last ended, until it has recovered. */
  endedAt: Amount | undefined
}

/**
 * Ends the session that fills a disk before other sessions cannot write, and sessions that exceed their own limit. Homes and everything
 * that sessions write outside them (/tmp, installed packages) count. Free space is checked with every call. The use of each session is
 * measured once a minute, every 10 seconds if sessions have limits, and as often as REST_SHORT permits when space is short.
 *
 * Threat model: the session is hostile and fast. Between two checks it may write as much as the disk accepts; the floor is the safety
 * margin. Space held by a deleted but open file is attributed to no session: the session with other growth is ended, or none.
 */
export function createDiskGuard(deps: DiskGuardDeps): { check(): Promise<void> } {
  const { running, homeOf, floorBytes, limits, homeLimits, stop, log, signal } = deps
  const watched = new Map<string, Watched>()
  const marks = new Map<number, Watermark>()
  const pauseMs = limits.bytes === undefined && limits.inodes === undefined ? MEASURE_AMPLE_MS : MEASURE_LIMITED_MS

  async function areasOf(kernel: RunningKernel): Promise<Area[]> {
    const layer = await writableLayer(kernel.pid)
    const paths = [
      { isHome: true, path: homeOf(kernel.kernelId) },
      ...(layer === undefined ? [] : [{ isHome: false, path: layer }]),
      // Volumes of the image belong to neither.
      ...(kernel.volumes ?? []).map(path => ({ isHome: false, path })),
    ]
    const none: Amount = { bytes: 0, inodes: 0 }
    return Promise.all(
      paths.map(async area => {
        const device = (await fileSystemOf(area.path))?.device ?? -1
        return { ...area, device, before: none, now: none }
      }),
    )
  }

  async function measure(kernel: RunningKernel, isShort: boolean): Promise<void> {
    const { kernelId } = kernel
    const known = watched.get(kernelId)
    const state = known ?? { areas: await areasOf(kernel), measuredAt: -Infinity, tookMs: 0 }
    watched.set(kernelId, state)
    const startedAt = performance.now()
    const rest = isShort ? REST_SHORT * state.tookMs : Math.max(pauseMs, REST * state.tookMs)
    if (startedAt - state.measuredAt < rest) return
    for (const area of state.areas) {
      const now = await diskUse(area.path, signal)
      if (!now) continue
      area.now = now
      // While there is enough space, slow growth is not the cause of a full disk: reset the baseline.
      if (!known || !isShort) area.before = now
    }
    state.measuredAt = performance.now()
    state.tookMs = state.measuredAt - startedAt
  }

  async function endThoseOverLimit(): Promise<void> {
    for (const [kernelId, { areas }] of watched) {
      try {
        const outside = areas.filter(area => !area.isHome)
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
    for (const { isHome, now } of areas) {
      if (isHome && overLimit(true, now, limits)) return overLimit(true, now, await homeLimits(kernelId))
    }
    return undefined
  }

  async function endFiller(found: FileSystem, mark: Watermark): Promise<void> {
    const floor = floorOf(found)
    if (isAbove(found.left, floor)) {
      mark.endedAt = undefined
      return
    }
    const sessions: Growth[] = [...watched].map(([kernelId, { areas }]) => {
      const here = areas.filter(area => area.device === found.device)
      return { kernelId, before: sum(here.map(area => area.before)), now: sum(here.map(area => area.now)) }
    })
    // The files of an ended session remain for a while: end another session only if the disk keeps filling.
    const verdict = filler(sessions, found.left, lower(floor, mark.endedAt))
    if (!verdict) return
    mark.endedAt = found.left
    for (const { areas } of watched.values()) for (const area of areas) area.before = area.now
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
      await endThoseOverLimit()
      for (const found of systems) {
        const mark = marks.get(found.device) ?? { left: found.left, endedAt: undefined }
        marks.set(found.device, mark)
        if (short.has(found.device)) await endFiller(found, mark)
        else mark.endedAt = undefined
        mark.left = found.left
      }
    },
  }
}

async function fileSystems(areas: readonly Area[]): Promise<FileSystem[]> {
  const paths = new Map(areas.map(({ device, path }) => [device, path]))
  const found = await Promise.all([...paths.values()].map(fileSystemOf))
  return found.filter(system => system !== undefined)
}

function isAbove(left: Amount, floor: Amount): boolean {
  return left.bytes >= floor.bytes && left.inodes >= floor.inodes
}

function lower(floor: Amount, endedAt: Amount | undefined): Amount {
  if (!endedAt) return floor
  return { bytes: Math.min(floor.bytes, endedAt.bytes), inodes: Math.min(floor.inodes, endedAt.inodes) }
}

function sum(amounts: readonly Amount[]): Amount {
  return {
    bytes: amounts.reduce((total, { bytes }) => total + bytes, 0),
    inodes: amounts.reduce((total, { inodes }) => total + inodes, 0),
  }
}
