import { hostname } from 'node:os'
import { CONSOLE_SECRET_HEADER, createClient } from '#manager/contract'
import { type Log } from '../../log.ts'
import { fetchByEnvironment } from '../../network/environment-network.ts'
import { type CertificateKeeper, reportOf } from './keeper.ts'

export interface ReportDeps {
  readonly certificate: CertificateKeeper
  readonly managerUrl: string
  /** Proves to the manager that the console reports. */
  readonly consoleSecret: string
  /** Port of the console; with the name of the computer it tells consoles apart. */
  readonly port: number
  readonly log: Log
}

/** The manager judges by its own clock how much time is left, so it hears regularly also of a certificate that does not change. */
const EVERY_MS = 60 * 60_000
const RETRY_MS = 60_000
const CALL_MS = 10_000

/** Tells the manager which certificate the console presents: now, at each change, and every hour. It notifies superadmins of problems. */
export function reportCertificate({ certificate, managerUrl, consoleSecret, port, log }: ReportDeps): Disposable {
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

  async function send(): Promise<void> {
    if (isStopped()) return
    clearTimeout(timer)
    let next = EVERY_MS
    try {
      const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(CALL_MS)])
      await api.reportCertificate({ params, body: reportOf(certificate), signal })
    } catch (error) {
      next = RETRY_MS
      log.debug({ error: String(error) }, 'the manager was not told of the certificate; trying again')
    }
    if (isStopped()) return
    timer = setTimeout(report, next)
    timer.unref()
  }
  // One report after the other: an older one must not arrive last.
  const report = () => void (sending = sending.then(send))
  certificate.onChange(report)
  report()
  return {
    [Symbol.dispose]() {
      stop.abort()
      clearTimeout(timer)
    },
  }
}
