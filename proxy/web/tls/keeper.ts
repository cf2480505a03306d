import { becauseOf, type CertificateReport, type CertificateSource, type TextKeys, whyOf } from '#manager/contract'
import { type Log } from '../../log.ts'
import { type ServedCertificate } from './certificate.ts'

/** Where certificates come from: our own, files, or an authority. */
export interface Supply {
  readonly kind: CertificateSource
  /**
   * The certificate to present now: the same object while nothing has changed. Called at the start and every few seconds after that,
   * one call at a time.
   *
   * @throws AppError `certificate_unusable`, `certificate_order_failed`: the one presented so far stays
   */
  check(now: Date): Promise<ServedCertificate>
}

/** A text, with its key for translations where it has one. */
export type Reason = { readonly why: string } & TextKeys

/** The certificate that the server presents, kept up to date. */
export interface CertificateKeeper extends Disposable {
  readonly source: CertificateSource
  readonly current: ServedCertificate
  /** Reason why the last check failed; undefined if it did not. */
  readonly problem: Reason | undefined
  /** Called with each new certificate and with each change of `problem`. */
  onChange(listener: () => void): void
  /** Checks now instead of at the next interval. */
  checkNow(): Promise<void>
}

export function reportOf({ source, current, problem }: CertificateKeeper): CertificateReport {
  if (!problem) return { source, ...current.facts, problem: null }
  const { why, ...problemBy } = problem
  return { source, ...current.facts, problem: why, problemBy }
}

/** Reason why a check failed. */
export function reasonOf(error: unknown): Reason {
  return becauseOf(error) ?? { why: whyOf(error) ?? String(error) }
}

const CHECK_EVERY_MS = 15_000

/**
 * Keeps the certificate up to date while the server runs. After a failure the present certificate stays in use; the failure is reported,
 * and the next check tries again.
 *
 * @throws the error of the first check: a server with an unusable certificate does not start
 */
export async function keepCertificate(
  supply: Supply,
  {
    log,
    everyMs = CHECK_EVERY_MS,
    now = () => new Date(),
  }: { log: Log; everyMs?: number | undefined; now?: () => Date },
): Promise<CertificateKeeper> {
  let current = await supply.check(now())
  let problem: Reason | undefined
  let checking: Promise<void> | undefined
  const listeners: (() => void)[] = []
  const tell = () => {
    for (const listener of listeners) listener()
  }

  async function check(): Promise<void> {
    let failure: Reason | undefined
    const before = current
    try {
      current = await supply.check(now())
    } catch (error) {
      failure = reasonOf(error)
    }
    if (current !== before) {
      const { fingerprint, notAfter } = current.facts
      log.info({ fingerprint, notAfter }, 'new connections get another certificate')
    }
    const hasOther = failure?.why !== problem?.why
    if (failure && hasOther) log.warn({ why: failure.why }, 'the certificate was not renewed')
    const isNews = current !== before || hasOther
    problem = failure
    if (!isNews) return
    try {
      tell()
    } catch (error) {
      log.error({ error: String(error) }, 'not everything was told of the certificate')
    }
  }
  const checkNow = () => (checking ??= check().finally(() => (checking = undefined)))
  const timer = setInterval(() => void checkNow(), everyMs)
  timer.unref()

  return {
    source: supply.kind,
    get current() {
      return current
    },
    get problem() {
      return problem
    },
    onChange: listener => void listeners.push(listener),
    checkNow,
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
