import { type KernelId, type PullProgress, type SessionStats } from '#manager/contract'
import { SampleRing, type SampleWindow } from './sample-ring.ts'

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
  /** How long nothing was downloaded or unpacked for any of these, if this process has seen anything move. */
  pullQuietMs(kernelIds: readonly KernelId[]): number | undefined
  forgetPull(kernelId: KernelId): void
  /** Its agent says now that its start waits for its turn there. */
  setWaiting(kernelId: KernelId): void
  /** How long ago that was said last of any of these; undefined where it never was. */
  sinceWaitingMs(kernelIds: readonly KernelId[]): number | undefined
  forget(kernelId: KernelId): void
}

const KEPT_SAMPLES = 300
/** Of sessions that ended without this process being told (another manager did it) nothing is kept for long. */
const FORGET_AFTER_MS = 10 * 60_000

/** @param now the clock that figures are stamped with: the database's, for they are shown beside what it holds */
export function createLiveFigures(now: () => number): LiveFigures {
  const rings = new Map<KernelId, SampleRing>()
  let lookedAt = now()
  const waiting = new Map<KernelId, number>()
  const pulls = new Map<KernelId, { progress: PullProgress; movedAt: number }>()
  function forgetOld(): void {
    lookedAt = now()
    for (const [id, ring] of rings) if (ring.lastAt < lookedAt - FORGET_AFTER_MS) rings.delete(id)
  }
  return {
    addStats(kernelId, stats) {
      if (now() - lookedAt > FORGET_AFTER_MS) forgetOld()
      const ring = rings.get(kernelId) ?? new SampleRing(KEPT_SAMPLES)
      // Clocks of agents may differ from it and from each other.
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

/** Not the status of a layer: one that waits, or is tried again and again, does not move. */
function movedBy({ bytesDone, layersDone, layers }: PullProgress): string {
  return JSON.stringify([bytesDone, layersDone, layers.map(({ unpacked }) => unpacked)])
}
