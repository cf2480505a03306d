import { setTimeout as delay } from 'node:timers/promises'
import { type Amount } from './disk-rules.ts'
import { type diskUse } from './disk-use.ts'

export interface FolderUseOptions {
  readonly signal: AbortSignal
  readonly measure: typeof diskUse
  /** A large folder takes long; the other sessions wait only so long for it, and its size is used when it is known. */
  readonly patienceMs: number
  /** Folders that are measured at a time. */
  readonly most: number
}

export interface FolderUse {
  /** Whether no further folder can be measured now. */
  isFull(): boolean
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
export function createFolderUse({ signal, measure: useOf, patienceMs, most }: FolderUseOptions): FolderUse {
  const folders = new Map<string, Measured>()
  const isFull = () => [...folders.values()].filter(({ pending }) => pending !== undefined).length >= most

  async function measure(path: string, folder: Measured): Promise<void> {
    const startedAt = performance.now()
    const use = await useOf(path, signal)
    folder.use = use
    folder.startedAt = startedAt
    folder.endedAt = performance.now()
    folder.pending = undefined
  }

  return {
    isFull,
    async of(path, { rest, since }) {
      const folder = folders.get(path) ?? { startedAt: -Infinity, endedAt: -Infinity }
      folders.set(path, folder)
      const { startedAt, endedAt } = folder
      const isDue = startedAt < since || performance.now() - endedAt >= rest * (endedAt - startedAt)
      if (!folder.pending && isDue && !isFull()) folder.pending = measure(path, folder)
      const timer = new AbortController()
      if (folder.pending) {
        await Promise.race([
          folder.pending,
          delay(patienceMs, undefined, { signal: timer.signal }).catch(() => undefined),
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
