import { setTimeout as delay } from 'node:timers/promises'
import { sum } from './disk-areas.ts'
import { type Growth } from './disk-rules.ts'
import { type FileSystem, fileSystemOf } from './disk-use.ts'
import { tryStopping } from './stop-trial.ts'
import { type WatchedSessions } from './watched-sessions.ts'

/** Finds, by stopping sessions for a moment, which of them fills a disk with bytes that a measurement does not see. */
export interface HiddenCause {
  /** Sessions that have not been stopped for a while, those first whose processes have written most. */
  suspects(sessions: readonly Growth[]): string[]
  /** Whether a file system fills while this session runs, and not while it is stopped, with bytes that are in no file of it. */
  isCause(kernelId: string, system: FileSystem): Promise<boolean>
}

export interface HiddenCauseDeps {
  readonly sessions: WatchedSessions
  readonly floorBytes: number
  readonly signal: AbortSignal
  /** Left out: `tryStopping`. */
  readonly trial?: typeof tryStopping | undefined
}

/** Pause between two times at which a session is stopped. */
const FREEZE_AGAIN_MS = 60_000
/** Most sessions that one check stops, one after the other: the disk fills meanwhile. */
const MOST_STOPPED = 8
/** Part of the floor that a session must take between two stops to be found out by them. */
const TRIAL = 1 / 64

export function createHiddenCause({ sessions, floorBytes, signal, trial = tryStopping }: HiddenCauseDeps): HiddenCause {
  return {
    suspects(growths) {
      const isDue = (kernelId: string) =>
        performance.now() - (sessions.all.get(kernelId)?.frozenAt ?? Infinity) >= FREEZE_AGAIN_MS
      const inOrder = growths.toSorted((a, b) => (b.wrote ?? 0) - (a.wrote ?? 0))
      return inOrder
        .map(({ kernelId }) => kernelId)
        .filter(isDue)
        .slice(0, MOST_STOPPED)
    },
    async isCause(kernelId, { device }) {
      const [state, kernel] = [sessions.all.get(kernelId), sessions.kernelOf(kernelId)]
      const here = state?.areas.filter(area => area.device === device) ?? []
      const path = here.find(({ kind }) => kind !== 'folder')?.path
      if (!state || !kernel || path === undefined) return false
      if (performance.now() - state.clearedAt < FREEZE_AGAIN_MS) return false
      const finding = await trial({
        left: async () => (await fileSystemOf(path))?.left.bytes,
        stop: () => sessions.stopProcesses(kernel),
        async use() {
          await sessions.measureNow(state)
          return sum(here.map(({ now }) => now)).bytes
        },
        least: floorBytes * TRIAL,
        wait: ms => delay(ms, undefined, { signal }),
      })
      if (finding === 'other') state.clearedAt = performance.now()
      return finding === 'cause'
    },
  }
}
