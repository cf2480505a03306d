import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { AppError } from '#manager/contract'

let done = false

/**
 * Adds the authorities that the operating system trusts to Node's own, for every connection of this process; Node's list alone
 * lacks a laboratory's own authority. Verification itself does not change. Reading the list takes about 80 ms, so it happens
 * only before an https address is used. Servers get the same by `--use-system-ca` (server-options.ts).
 */
export function trustSystemCertificates(endpoint: string): void {
  if (done || !endpoint.startsWith('https:')) return
  done = true
  setDefaultCACertificates([...new Set([...getCACertificates('default'), ...getCACertificates('system')])])
}

/** Codes of OpenSSL and Node for an invalid certificate. */
const REFUSED = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/

/**
 * Use in the `catch` of a request: tells an untrusted certificate apart from a server that is down.
 *
 * @throws AppError `unavailable` with the reason: an untrusted certificate, or no answer; an abort is rethrown unchanged
 */
export function explainFailure(url: string, error: unknown): never {
  const cause = error instanceof Error ? error.cause : undefined
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string' && REFUSED.test(cause.code)) {
    const why =
      `Its certificate is not trusted: ${cause.message}. Add the authority that signed it to the certificates of this system, ` +
      'or name its file in NODE_EXTRA_CA_CERTS.'
    throw new AppError('unavailable', { why }, { cause: error })
  }
  if (error instanceof Error && error.name === 'AbortError') throw error
  const why = `Nothing answers at ${new URL(url).origin}. Does Berth run there, and is the address right?`
  throw new AppError('unavailable', { why }, { cause: error })
}
