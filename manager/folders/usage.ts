import { setTimeout as delay } from 'node:timers/promises'
import { type FolderId } from '#manager/contract'
import { type Log } from '../log.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { readSizes, readUsage, saveUsage } from '../store/storage/folder-usage.ts'
import { type FolderHints } from './hints.ts'

/**
 * Measures folders in the background when somebody lists them, one folder of a storage host at a time. A folder that nobody lists costs
 * nothing. Closing interrupts a count; the next listing starts it again.
 */
export interface FolderUsages extends AsyncDisposable {
  /** Measures those folders whose figures are old. Returns at once. */
  check(folders: readonly CheckedFolder[]): void
  /** Measures the folders again, unless that has just happened, and waits for at most ten seconds. Several callers share one count. */
  again(folders: readonly CheckedFolder[]): Promise<void>
  /** Counts the folder soon after the last of a series of writes, if it was counted before. Returns at once. */
  wrote(id: FolderId): void
}

export type CheckedFolder = Pick<FolderRow, 'id' | 'storage_host' | 'measured_at' | 'took_ms'>

export interface FolderUsagesDeps {
  readonly store: Pick<Store, 'db' | 'now'>
  readonly storage: Pick<StorageHosts, 'measure'>
  readonly hints: FolderHints
  readonly log: Log
  readonly freshMs?: number
  /** Time from the last write to the count. */
  readonly soonMs?: number
}

/** Figures count as fresh for this long, or for `FRESH_TIMES` the duration of the count, so that counting takes at most 5 % of the time. */
const FRESH_MS = 5 * 60_000
const FRESH_TIMES = 20
/** A count that takes longer is given up: the folder is shown without figures. */
const LONGEST_MS = 30 * 60_000
/** Largest number of folders that wait for their turn on one storage host; further ones are measured when they are listed again. */
const LONGEST_QUEUE = 1_000
/** Figures up to this age are new enough to refuse a write. */
const JUST_NOW_MS = 1_000
/** Writes within this time of each other are one series: the files of a directory, the parts of a large file. */
const SOON_MS = 3_000
/** Time that a write waits for new figures. */
const PATIENCE_MS = 10_000

/** Minimum time from the end of one count to the start of the next. */
const restMs = ({ took_ms }: Pick<CheckedFolder, 'took_ms'>) => Math.max(JUST_NOW_MS, FRESH_TIMES * (took_ms ?? 0))

export function createFolderUsages(deps: FolderUsagesDeps): FolderUsages {
  const { store, storage, hints, log, freshMs = FRESH_MS, soonMs = SOON_MS } = deps
  const cut = new AbortController()
  const pending = new Map<string, Set<FolderId>>()
  const workers = new Map<string, Promise<void>>()

  const isOld = ({ measured_at, took_ms }: CheckedFolder) =>
    measured_at === null || store.now() - measured_at.getTime() > Math.max(freshMs, FRESH_TIMES * (took_ms ?? 0))

  async function measure(host: string, id: FolderId): Promise<void> {
    const startedAt = performance.now()
    const tookMs = () => Math.round(performance.now() - startedAt)
    const tooLong = AbortSignal.timeout(LONGEST_MS)
    const before = await readUsage(store.db, id)
    try {
      const size = await storage.measure(host, id, AbortSignal.any([cut.signal, tooLong]))
      if (await saveUsage(store.db, id, before, { ...size, tookMs: tookMs() })) await hints.changed(id)
    } catch (error) {
      if (cut.signal.aborted) return
      log.info({ err: error, folderId: id, host }, 'a folder was not measured')
      if (tooLong.aborted) await saveUsage(store.db, id, before, { bytes: null, files: null, tookMs: tookMs() })
    }
  }

  const counting = new Map<FolderId, Promise<void>>()
  /** Counts of one folder never overlap: the slower one would overwrite writes recorded since it began. */
  function measureOnce(host: string, id: FolderId): Promise<void> {
    const known = counting.get(id)
    if (known) return known
    // Others wait for the same count.
    const running = onBehalfOfAll(() => measure(host, id))
      .catch((error: unknown) => log.warn({ err: error, folderId: id }, 'a size was not saved'))
      .finally(() => {
        counting.delete(id)
        pending.get(host)?.delete(id)
      })
    counting.set(id, running)
    return running
  }

  async function work(host: string, queue: Set<FolderId>): Promise<void> {
    for (const id of queue) {
      if (cut.signal.aborted) return
      await measureOnce(host, id)
    }
  }

  const written = new Map<FolderId, NodeJS.Timeout>()
  const recounts = new Set<Promise<void>>()
  function countIn(id: FolderId, ms: number): void {
    const timer = onBehalfOfAll(() => setTimeout(onTime, ms).unref())
    written.set(id, timer)
    function onTime(): void {
      written.delete(id)
      const recount = recountWritten(id)
        .catch((error: unknown) => log.warn({ err: error, folderId: id }, 'a folder was not counted after a write'))
        .finally(() => recounts.delete(recount))
      recounts.add(recount)
    }
  }
  async function recountWritten(id: FolderId): Promise<void> {
    const sizes = await readSizes(store.db, id)
    if (!sizes?.measured_at || cut.signal.aborted) return
    const waitMs = sizes.measured_at.getTime() + restMs(sizes) - store.now()
    if (waitMs <= 0) await measureOnce(sizes.storage_host, id)
    // For a folder that takes long to count, the next regular figures have to suffice.
    else if (waitMs < freshMs && !written.has(id)) countIn(id, waitMs)
  }

  return {
    wrote(id) {
      if (cut.signal.aborted) return
      const timer = written.get(id)
      if (timer) timer.refresh()
      else countIn(id, soonMs)
    },
    async again(folders) {
      const isStale = (folder: CheckedFolder) =>
        folder.measured_at === null || store.now() - folder.measured_at.getTime() > restMs(folder)
      const counted = (async () => {
        for (const folder of folders.filter(isStale))
          if (!cut.signal.aborted) await measureOnce(folder.storage_host, folder.id)
      })()
      const patience = new AbortController()
      await Promise.race([counted, delay(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => undefined)])
      patience.abort()
    },
    check(folders) {
      if (cut.signal.aborted) return
      for (const folder of folders.filter(isOld)) {
        const host = folder.storage_host
        const queue = pending.get(host) ?? new Set()
        pending.set(host, queue)
        if (queue.size < LONGEST_QUEUE) queue.add(folder.id)
        if (workers.has(host)) continue
        workers.set(
          host,
          work(host, queue).finally(() => workers.delete(host)),
        )
      }
    },
    async [Symbol.asyncDispose]() {
      cut.abort()
      for (const timer of written.values()) clearTimeout(timer)
      await Promise.all([...workers.values(), ...counting.values(), ...recounts])
    },
  }
}
