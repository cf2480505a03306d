const MiB = 2 ** 20
const GiB = 2 ** 30

/**
 * Tolerance for each process of a session: the driver's own memory of a process (518 MiB on an H100), which limits of frameworks do not
 * count, and modules and buffers that libraries load later.
 */
const PROCESS_BYTES = 768 * MiB
/** The tolerance of a session is at most this part of its share, or that of one process: many idle processes must not make a share endless. */
const MOST_TOLERANCE = 1 / 4
/** A session that is this much above its limit, or by a quarter of its share, leaves other sessions no time. */
const FAR_BYTES = GiB
const FAR = 1 / 4
/** A session may be above its limit for this long. */
const GRACE_MS = 5_000
/** Time within the limit makes up for a tenth as much time above it: a session that is above it again and again is ended too. */
const RECOVERY = 1 / 10
/** A session far above its limit is ended by the second look in a row: what a program has freed may still be in the driver's list. */
const LOOKS = 2
/** Time that a look counts for at most: a late look proves no long excess. */
const LONGEST_INTERVAL_MS = 1_000

/** Use of one GPU by a session now. */
export interface ShareUse {
  readonly bytes: number
  /** Number of its processes on the GPU. */
  readonly processes: number
}

/** Findings of earlier looks. */
export interface Standing {
  /** Looks in a row that found the session above its limit. */
  readonly looks: number
  /** Time above the limit, less what time within it made up for. */
  readonly overMs: number
}

export interface Judgement {
  readonly standing: Standing
  readonly verdict: 'within' | 'over' | 'end'
}

/** The most that a session may use: its share, and a tolerance for its processes. */
export function shareLimit(shareBytes: number, processes: number): number {
  return shareBytes + Math.min(processes * PROCESS_BYTES, Math.max(PROCESS_BYTES, shareBytes * MOST_TOLERANCE))
}

/**
 * Decides whether a session uses too much of a GPU. Pure.
 *
 * @param before standing after the last look; undefined before the first
 * @param elapsedMs time since the last look
 */
export function judgeShare(
  before: Standing | undefined,
  { bytes, processes }: ShareUse,
  { shareBytes, elapsedMs }: { readonly shareBytes: number; readonly elapsedMs: number },
): Judgement {
  const { looks, overMs } = before ?? { looks: 0, overMs: 0 }
  const interval = Math.min(elapsedMs, LONGEST_INTERVAL_MS)
  const excess = bytes - shareLimit(shareBytes, processes)
  if (excess <= 0) {
    return { standing: { looks: 0, overMs: Math.max(0, overMs - interval * RECOVERY) }, verdict: 'within' }
  }
  const standing = { looks: looks + 1, overMs: overMs + interval }
  const isFar = excess > Math.max(FAR_BYTES, shareBytes * FAR)
  const isEnd = standing.overMs >= GRACE_MS || (isFar && standing.looks >= LOOKS)
  return { standing, verdict: isEnd ? 'end' : 'over' }
}

/** A process on a GPU. */
export interface OwnedProcess {
  /** Kernel to which it belongs; undefined for a process of the host, or of a container of somebody else. */
  readonly kernelId: string | undefined
  /** Whether it runs, and belongs to none of the kernels that hold shares. */
  readonly isOfOthers: boolean
  /** Null if the driver does not tell, as for a program that draws. */
  readonly memBytes: number | null
}

/** Memory of a GPU that belongs to no process, by the last looks. */
export interface Unclaimed {
  /** Memory of the driver while no session used the GPU. */
  readonly atRest: number
  /** Kernels with processes on the GPU. */
  readonly kernels: string
  /** Excess over that by the last looks that found these kernels, the newest last. */
  readonly excess: readonly number[]
}

/**
 * The two answers of a look are a moment apart, in which a program may allocate, and the memory of a session that has ended is there for a
 * moment: only what several looks find is held.
 */
const UNCLAIMED_LOOKS = 5
/** Less than this may be the driver's own. */
const LEAST_UNCLAIMED = GiB

/** Takes up one more look. @param usedBytes memory of the whole GPU in use */
export function noteUnclaimed(
  before: Unclaimed | undefined,
  usedBytes: number,
  processes: readonly OwnedProcess[],
): Unclaimed {
  const claimed = processes.reduce((sum, { memBytes }) => sum + (memBytes ?? 0), 0)
  const now = Math.max(0, usedBytes - claimed)
  const kernels = [...new Set(processes.flatMap(({ kernelId }) => kernelId ?? []))].toSorted().join()
  // An agent that starts while sessions run does not know what the driver has at rest, and takes it for little.
  const atRest = kernels === '' ? Math.min(before?.atRest ?? now, now) : (before?.atRest ?? 0)
  const earlier = before?.kernels === kernels ? before.excess : []
  return { atRest, kernels, excess: [...earlier, now - atRest].slice(-UNCLAIMED_LOOKS) }
}

/** Use of a GPU by its sessions. */
export interface GpuUse {
  readonly byKernel: ReadonlyMap<string, ShareUse>
  /** Memory that belongs to no process and was attributed to the only session on the GPU; 0 for none. */
  readonly attributed: number
  /** The same, if it cannot be attributed. */
  readonly unattributed: number
}

/**
 * Divides the memory of a GPU among its sessions. Memory that belongs to no process (managed memory, mostly) is that of the only session with
 * processes on the GPU. With several sessions it is nobody's; where a program of others runs (of the host, or in a container that is not
 * Berth's), or one draws, the memory may be that program's.
 */
export function divideUse(processes: readonly OwnedProcess[], unclaimed: Unclaimed | undefined): GpuUse {
  const owned = processes.filter(({ kernelId }) => kernelId !== undefined)
  const byKernel = new Map<string, ShareUse>()
  for (const { kernelId = '', memBytes } of owned) {
    const { bytes, processes: count } = byKernel.get(kernelId) ?? { bytes: 0, processes: 0 }
    byKernel.set(kernelId, { bytes: bytes + (memBytes ?? 0), processes: count + 1 })
  }
  const isOutside = processes.some(one => one.isOfOthers || (one.kernelId === undefined && one.memBytes === null))
  const extra = isOutside ? 0 : lasting(unclaimed)
  const [only, ...others] = byKernel
  if (!only || others.length > 0) return { byKernel, attributed: 0, unattributed: extra }
  const [kernelId, use] = only
  byKernel.set(kernelId, { ...use, bytes: use.bytes + extra })
  return { byKernel, attributed: extra, unattributed: 0 }
}

function lasting(unclaimed: Unclaimed | undefined): number {
  const { excess } = unclaimed ?? { excess: [] }
  const least = excess.length < UNCLAIMED_LOOKS ? 0 : Math.min(...excess)
  return least > LEAST_UNCLAIMED ? least : 0
}
