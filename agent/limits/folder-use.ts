import { setTimeout as delay } from 'node:timers/promises'
import { type Amount } from './disk-rules.ts'
import { diskUse } from './disk-use.ts'

/** A large folder takes long; the other sessions wait only so long for it, and its size is used when it is known. */
const PATIENCE_MS = 1_000
/** Folders that are measured at a time. */
const MOST_AT_A_TIME = 2

export interface FolderUse {
  /**
   * @param rest pause between two measurements, as a multiple of the duration of the last one
   * @param since start of an acceptable measurement
   * @returns undefined if the size is not known yet
   */
  of(path: string, options: { readonly rest: number; readonly since: number }): Promise<Amount | undefined>
  /** Forgets all other folders. */
  keep(paths: ReadonlySet<string>): void
}

interface Measured {
  use?: Amount | undefined
  startedAt: number
  endedAt: number
  pending?: Promise<void> | undefined
}

/** Sizes of folders. A folder is measured once for all sessions that have it mounted, beside the rest of the guard's work. */
export function createFolderUse(signal: AbortSignal): FolderUse {
  const folders = new Map<string, Measured>()

  async function measure(path: string, folder: Measured): Promise<void> {
    const startedAt = performance.now()
    const use = await diskUse(path, signal)
    folder.use = use
    folder.startedAt = startedAt
    folder.endedAt = performance.now()
    folder.pending = undefined
  }

  return {
    async of(path, { rest, since }) {
      const folder = folders.get(path) ?? { startedAt: -Infinity, endedAt: -Infinity }
      folders.set(path, folder)
      const { startedAt, endedAt } = folder
      const isDue = startedAt < since || performance.now() - endedAt >= rest * (endedAt - startedAt)
      const running = [...folders.values()].filter(({ pending }) => pending !== undefined).length
      if (!folder.pending && isDue && running < MOST_AT_A_TIME) folder.pending = measure(path, folder)
      const timer = new AbortController()
      if (folder.pending) {
        await Promise.race([
          folder.pending,
          delay(PATIENCE_MS, undefined, { signal: timer.signal }).catch(() => undefined),
        ])
        timer.abort()
      }
      return folder.startedAt >= since ? folder.use : undefined
    },
    keep(paths) {
      for (const [path, { pending }] of folders) if (!paths.has(path) && !pending) folders.delete(path)
    },
  }
}
