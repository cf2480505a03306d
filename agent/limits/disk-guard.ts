import { type Because } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Area, fileSystems, NONE, sum } from './disk-areas.ts'
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
import { type FileSystem } from './disk-use.ts'
import { createHiddenCause, type HiddenCauseDeps } from './hidden-cause.ts'
import { type Stop } from './stop.ts'
import { createWatchedSessions, type WatchedSessionsDeps } from './watched-sessions.ts'

export interface DiskGuardDeps extends WatchedSessionsDeps, Pick<HiddenCauseDeps, 'trial'> {
  /** Free space kept as a reserve for all sessions. */
  readonly floorBytes: number
  /** The part of the limits that the home's file system does not enforce; called only for a home above the limits. */
  readonly homeLimits: (kernelId: string) => Promise<DiskLimits>
  readonly stop: Stop
  readonly log: Log
}

/** Above this multiple of the floor, sessions are measured only occasionally. */
const AMPLE = 4
/** The disk counts as short of space if, at its present rate, it reaches the floor within this many checks. */
const AHEAD_LOOKS = 10

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
  const { floorBytes, limits, homeLimits, stop, log, signal, trial } = deps
  const sessions = createWatchedSessions(deps)
  const hidden = createHiddenCause({ sessions, floorBytes, signal, trial })
  const marks = new Map<number, Watermark>()

  async function endThoseOverLimit(): Promise<void> {
    for (const [kernelId, { areas }] of sessions.all) {
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

  function growthsOn({ device }: FileSystem, { written }: Watermark): Growth[] {
    return [...sessions.all].map(([kernelId, { areas }]) => {
      const here = areas.filter(area => area.device === device)
      const wrote = sessions.wroteOf(kernelId)
      return {
        kernelId,
        before: sum(here.map(({ before }) => before ?? NONE)),
        now: sum(here.map(({ now }) => now)),
        wrote,
        wroteSince: here.length > 0 ? wrote - (written.get(kernelId) ?? wrote) : 0,
      }
    })
  }

  async function endFiller(found: FileSystem, mark: Watermark): Promise<void> {
    for (const kernelId of sessions.all.keys())
      if (!mark.written.has(kernelId)) mark.written.set(kernelId, sessions.wroteOf(kernelId))
    const floor = floorOf(found)
    if (isAbove(found.left, floor)) {
      mark.endedAt = undefined
      return
    }
    const loss = { lost: lostSince(mark.room, found.left), floor }
    let growths = growthsOn(found, mark)
    for (const kernelId of hidden.suspects(growths)) {
      if (!isUnexplained(growths, loss)) break
      await sessions.measureStopped(kernelId)
      growths = growthsOn(found, mark)
    }
    // The files of an ended session remain for a while: end another session only if the disk keeps filling.
    const below = lower(floor, mark.endedAt)
    const suspect = hiddenFiller(growths, found.left, below, loss)
    const isFound = suspect !== undefined && (await hidden.isCause(suspect.kernelId, found))
    const verdict = isFound ? suspect : filler(growths, found.left, below)
    if (!verdict) return
    mark.endedAt = found.left
    mark.room = found.left
    mark.written.clear()
    for (const { areas } of sessions.all.values())
      for (const area of areas) {
        if (area.before) area.before = area.now
      }
    await end(verdict.kernelId, verdict.why)
  }

  async function end(kernelId: string, { why: message, ...key }: Because): Promise<void> {
    sessions.all.delete(kernelId)
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

  function remember({ device, left }: FileSystem): Watermark {
    const mark = marks.get(device) ?? { left, room: left, written: new Map(), endedAt: undefined }
    marks.set(device, mark)
    return mark
  }

  return {
    async check() {
      await sessions.follow()
      const systems = await fileSystems([...sessions.all.values()].flatMap(({ areas }) => areas))
      const short = new Set(systems.filter(isShort).map(({ device }) => device))
      await sessions.measure(short)
      await endThoseOverLimit()
      for (const found of systems) {
        const mark = remember(found)
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
