import { type KernelId, type PullProgress, type SessionStats } from '#manager/contract'

/** Figures of the last minutes; nothing here survives a restart, and nothing needs to. */
export interface LiveFigures {
  addStats(kernelId: KernelId, stats: SessionStats): void
  stats(kernelId: KernelId): SessionStats | null
  /** Oldest first, at most five minutes. */
  recentStats(kernelId: KernelId): readonly SessionStats[]
  setPull(kernelId: KernelId, progress: PullProgress): void
  pull(kernelId: KernelId): PullProgress | null
  /** When bytes or layers last moved. */
  pullMovedAt(kernelId: KernelId): number | undefined
  forgetPull(kernelId: KernelId): void
  forget(kernelId: KernelId): void
}

const KEPT_SAMPLES = 300

export function createLiveFigures(now: () => number = Date.now): LiveFigures {
  const rings = new Map<KernelId, SessionStats[]>()
  const pulls = new Map<KernelId, { progress: PullProgress; movedAt: number }>()
  return {
    addStats(kernelId, stats) {
      const ring = rings.get(kernelId) ?? []
      ring.push(stats)
      if (ring.length > KEPT_SAMPLES) ring.shift()
      rings.set(kernelId, ring)
    },
    stats: kernelId => rings.get(kernelId)?.at(-1) ?? null,
    recentStats: kernelId => rings.get(kernelId) ?? [],
    setPull(kernelId, progress) {
      const last = pulls.get(kernelId)
      const moved = last?.progress.bytesDone !== progress.bytesDone || last.progress.layersDone !== progress.layersDone
      pulls.set(kernelId, { progress, movedAt: moved ? now() : last.movedAt })
    },
    pull: kernelId => pulls.get(kernelId)?.progress ?? null,
    pullMovedAt: kernelId => pulls.get(kernelId)?.movedAt,
    forgetPull: kernelId => void pulls.delete(kernelId),
    forget(kernelId) {
      rings.delete(kernelId)
      pulls.delete(kernelId)
    },
  }
}
