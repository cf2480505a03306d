import { hostname } from 'node:os'
import { type ApiClient, CONSOLE_SECRET_HEADER, createClient } from '#manager/contract'
import { type Log } from '../log.ts'
import { fetchByEnvironment } from '../network/environment-network.ts'

export interface Reporter extends Disposable {
  /** Call when something has changed: reports again. */
  report(): void
}

export interface ReporterDeps {
  readonly managerUrl: string
  /** Proves to the manager that the report comes from the console. */
  readonly consoleSecret: string
  /** Port of the console; together with the name of the computer it identifies the console. */
  readonly port: number
  readonly log: Log
}

/** The manager judges the age of a report by its own clock, so unchanged reports are repeated. */
const EVERY_MS = 60 * 60_000
const RETRY_MS = 60_000
const CALL_MS = 10_000

/**
 * Reports to the manager: now, when something has changed, every hour, and again after a minute if it did not answer.
 *
 * @param send makes one report, under the name of the console
 * @param what subject of the report, for the log
 */
export function reportRegularly(
  { managerUrl, consoleSecret, port, log }: ReporterDeps,
  what: string,
  send: (api: ApiClient, params: { readonly console: string }, signal: AbortSignal) => Promise<unknown>,
): Reporter {
  const api = createClient({
    baseUrl: managerUrl,
    fetch: (url, init) => fetchByEnvironment(url, init as RequestInit),
    headers: () => ({ [CONSOLE_SECRET_HEADER]: consoleSecret }),
  })
  const params = { console: `${hostname().replaceAll(/[^\w.-]/g, '-')}-${port}` }
  const stop = new AbortController()
  const isStopped = () => stop.signal.aborted
  let timer: NodeJS.Timeout | undefined
  let sending = Promise.resolve()

  async function sendNow(): Promise<void> {
    if (isStopped()) return
    clearTimeout(timer)
    let next = EVERY_MS
    try {
      await send(api, params, AbortSignal.any([stop.signal, AbortSignal.timeout(CALL_MS)]))
    } catch (error) {
      next = RETRY_MS
      log.debug({ what, error: String(error) }, 'the manager did not take a report; trying again')
    }
    if (isStopped()) return
    timer = setTimeout(report, next)
    timer.unref()
  }
  // Reports are sent one after the other, so that an older one never arrives last.
  const report = () => void (sending = sending.then(sendNow))
  report()
  return {
    report,
    [Symbol.dispose]() {
      stop.abort()
      clearTimeout(timer)
    },
  }
}
