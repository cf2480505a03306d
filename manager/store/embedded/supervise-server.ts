import { type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '#base/backoff'
import { type Log } from '../../log.ts'
import { stopProcess } from './postmaster.ts'

const PAUSES = { firstMs: 50, longestMs: 5_000 } as const

export interface Supervision {
  /** Starts the server; resolves when it accepts connections. */
  readonly start: () => Promise<ChildProcess>
  readonly log: Log
  /** Delay before the next attempt after this many failed restarts in a row. */
  readonly delayMs?: (failures: number) => number
}

/**
 * Starts the server and restarts it when it dies (killed for memory, say); the manager sees broken connections for a
 * moment. A failed restart (a full disk, say) is retried with back-off until the supervision is disposed. Disposing stops
 * the server.
 *
 * @throws the error of the first start, which is not retried
 */
export async function superviseServer({
  start,
  log,
  delayMs = failures => backoffMs(failures, PAUSES),
}: Supervision): Promise<AsyncDisposable> {
  const closing = new AbortController()
  let current: Promise<ChildProcess | undefined> = Promise.resolve(watch(await start()))

  function watch(server: ChildProcess): ChildProcess {
    server.once('exit', (code, signal) => {
      if (closing.signal.aborted) return
      log.error({ code, signal }, 'the embedded database stopped unexpectedly; restarting it')
      current = restart()
    })
    return server
  }
  async function restart(): Promise<ChildProcess | undefined> {
    for (let failures = 1; !closing.signal.aborted; failures++) {
      try {
        return watch(await start())
      } catch (error) {
        // Children of the dead server may hold its shared memory for a moment longer.
        log.error({ err: error }, 'the embedded database could not be restarted yet')
        await delay(delayMs(failures), undefined, { signal: closing.signal }).catch(() => undefined)
      }
    }
    return undefined
  }
  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      const server = await current
      if (server?.pid !== undefined && server.exitCode === null && server.signalCode === null)
        await stopProcess(server.pid)
    },
  }
}
