import { type KernelId, type PullProgress, type SessionStats } from '#manager/contract'
import { SampleRing, type SampleWindow } from '../stats/sample-ring.ts'

/** Figures of the last minutes; nothing here survives a restart, and nothing needs to. */
export interface LiveFigures {
  addStats(kernelId: KernelId, stats: SessionStats): void
  stats(kernelId: KernelId): SessionStats | null
  /** Oldest first, at most five minutes. */
  recentStats(kernelId: KernelId): readonly SessionStats[]
  /** Undefined where there are no figures to judge by. @see SampleRing.window */
  window(kernelId: KernelId, span: { windowMs: number; freshMs: number }): SampleWindow | undefined
  setPull(kernelId: KernelId, progress: PullProgress): void
  pull(kernelId: KernelId): PullProgress | null
  /** When bytes or layers last moved. */
  pullMovedAt(kernelId: KernelId): number | undefined
  forgetPull(kernelId: KernelId): void
  forget(kernelId: KernelId): void
}

const KEPT_SAMPLES = 300
/** Of sessions that ended without this process being told (another manager did it) nothing is kept for long. */
const FORGET_AFTER_MS = 10 * 60_000

export function createLiveFigures(now: () => number = Date.now): LiveFigures {
  const rings = new Map<KernelId, SampleRing>()
  let lookedAt = now()
  const pulls = new Map<KernelId, { progress: PullProgress; movedAt: number }>()
  function forgetOld(): void {
    lookedAt = now()
    for (const [id, ring] of rings) if (ring.lastAt < lookedAt - FORGET_AFTER_MS) rings.delete(id)
  }
  return {
    addStats(kernelId, stats) {
      if (now() - lookedAt > FORGET_AFTER_MS) forgetOld()
      const ring = rings.get(kernelId) ?? new SampleRing(KEPT_SAMPLES)
      // Stamped by the clock of this process: those of agents may differ from it and from each other.
      ring.add({ ...stats, at: new Date(now()).toISOString() })
      rings.set(kernelId, ring)
    },
    stats: kernelId => rings.get(kernelId)?.last(1)[0] ?? null,
    recentStats: kernelId => rings.get(kernelId)?.last() ?? [],
    window: (kernelId, span) => rings.get(kernelId)?.window(now(), span),
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
