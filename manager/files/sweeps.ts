import { type Log } from '../log.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'

/** Removes in the background directories that users have deleted, one storage host at a time. Closing interrupts it. */
export interface Sweeps extends AsyncDisposable {
  /** Starts soon; if a sweep is in progress, another one follows it. */
  start(host: string): void
}

const RETRY_MS = 10 * 60_000

/** Continues the removals of an earlier run, and repeats failed ones. */
export function startSweeps({ storage, log }: { storage: Pick<StorageHosts, 'names' | 'sweep'>; log: Log }): Sweeps {
  const cut = new AbortController()
  const isCut = () => cut.signal.aborted
  const running = new Map<string, Promise<void>>()
  const again = new Set<string>()

  async function sweep(host: string): Promise<void> {
    do {
      again.delete(host)
      try {
        await storage.sweep(host, cut.signal)
      } catch (error) {
        if (!isCut()) log.warn({ err: error, host }, 'deleted files were not removed')
      }
    } while (again.has(host) && !isCut())
    running.delete(host)
  }

  const start = (host: string) => {
    if (isCut()) return
    if (running.has(host)) again.add(host)
    // Others wait for the same sweep.
    else
      running.set(
        host,
        onBehalfOfAll(() => sweep(host)),
      )
  }
  const startAll = () => storage.names.forEach(start)
  startAll()
  const timer = setInterval(startAll, RETRY_MS).unref()

  return {
    start,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      cut.abort()
      await Promise.all(running.values())
    },
  }
}
