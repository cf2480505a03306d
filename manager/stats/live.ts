import { type KernelId, type PullProgress, type SessionStats } from '#manager/contract'
import { SampleRing, type SampleWindow } from './sample-ring.ts'

/** Figures of the last minutes, in memory only; they need not survive a restart. */
export interface LiveStats {
  addStats(kernelId: KernelId, stats: SessionStats): void
  stats(kernelId: KernelId): SessionStats | null
  /** Oldest first, at most five minutes. */
  recentStats(kernelId: KernelId): readonly SessionStats[]
  /** Undefined if there are too few figures. @see SampleRing.window */
  window(kernelId: KernelId, span: { windowMs: number; freshMs: number }): SampleWindow | undefined
  setPull(kernelId: KernelId, progress: PullProgress): void
  pull(kernelId: KernelId): PullProgress | null
  /** Time since the last progress of a pull for any of these; undefined if this process has seen no pull for them. */
  pullQuietMs(kernelIds: readonly KernelId[]): number | undefined
  forgetPull(kernelId: KernelId): void
  /** Records the agent's report that the kernel's start is waiting for its turn there. */
  setWaiting(kernelId: KernelId): void
  /** Time since `setWaiting` was last called for any of these; undefined if never. */
  sinceWaitingMs(kernelIds: readonly KernelId[]): number | undefined
  forget(kernelId: KernelId): void
}

const KEPT_SAMPLES = 300
/** Figures older than this are dropped: another manager may have ended the session without telling this process. */
const FORGET_AFTER_MS = 10 * 60_000

/** @param now clock that stamps the figures: the database's, because they are shown beside stored figures */
export function createLiveStats(now: () => number): LiveStats {
  const rings = new Map<KernelId, SampleRing>()
  let checkedAt = now()
  const waiting = new Map<KernelId, number>()
  const pulls = new Map<KernelId, { progress: PullProgress; movedAt: number }>()
  function forgetOld(): void {
    checkedAt = now()
    for (const [id, ring] of rings) if (ring.lastAt < checkedAt - FORGET_AFTER_MS) rings.delete(id)
  }
  return {
    addStats(kernelId, stats) {
      if (now() - checkedAt > FORGET_AFTER_MS) forgetOld()
      const ring = rings.get(kernelId) ?? new SampleRing(KEPT_SAMPLES)
      // Stamp with our clock: the clocks of agents may differ from it and from each other.
      ring.add({ ...stats, at: new Date(now()).toISOString() })
      rings.set(kernelId, ring)
    },
    stats: kernelId => rings.get(kernelId)?.last(1)[0] ?? null,
    recentStats: kernelId => rings.get(kernelId)?.last() ?? [],
    window: (kernelId, span) => rings.get(kernelId)?.window(now(), span),
    setPull(kernelId, progress) {
      const last = pulls.get(kernelId)
      const moved = !last || movedBy(last.progress) !== movedBy(progress)
      pulls.set(kernelId, { progress, movedAt: moved ? performance.now() : last.movedAt })
    },
    pull: kernelId => pulls.get(kernelId)?.progress ?? null,
    pullQuietMs(kernelIds) {
      const movedAt = kernelIds.flatMap(id => pulls.get(id)?.movedAt ?? [])
      return movedAt.length > 0 ? performance.now() - Math.max(...movedAt) : undefined
    },
    forgetPull: kernelId => void pulls.delete(kernelId),
    setWaiting: kernelId => void waiting.set(kernelId, performance.now()),
    sinceWaitingMs(kernelIds) {
      const saidAt = kernelIds.flatMap(id => waiting.get(id) ?? [])
      return saidAt.length > 0 ? performance.now() - Math.max(...saidAt) : undefined
    },
    forget(kernelId) {
      waiting.delete(kernelId)
      rings.delete(kernelId)
      pulls.delete(kernelId)
    },
  }
}

/** Measure of a pull's progress. The status of a layer is ignored, because a waiting or retried layer makes no progress. */
function movedBy({ bytesDone, layersDone, layers }: PullProgress): string {
  return JSON.stringify([bytesDone, layersDone, layers.map(({ unpacked }) => unpacked)])
}
