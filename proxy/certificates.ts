import type * as Tls from 'node:tls'
import { AppError, because, type ErrorDetail, isAppError } from '#manager/contract/light'

/** Authorities: those at the start of this process, those of the system once they were needed, and those of `trustAlso`. */
const authorities: { node?: string[]; system: string[]; more: readonly string[] } = { system: [], more: [] }
let done = false

/**
 * Adds the authorities that the operating system trusts to Node's own, for every connection of this process; Node's list alone lacks a
 * laboratory's own authority. Verification itself does not change. Reading the list takes about 80 ms, so it happens only before an https
 * address is used. Servers get the same by `--use-system-ca` (server-options.ts).
 *
 * @returns false if nothing was added: they were added before, the address is not https, or this Node cannot (before 24.5, as in the
 *   Electron of the tests)
 */
export function trustSystemCertificates(endpoint: string): boolean {
  if (done || !endpoint.startsWith('https:')) return false
  done = true
  return update(tls => {
    authorities.system = tls.getCACertificates('system')
  })
}

/** Adds more authorities, in PEM, replacing those of the previous call. @returns false if this Node cannot */
export function trustAlso(certificates: readonly string[]): boolean {
  authorities.more = certificates
  return update(() => undefined)
}

function update(change: (tls: typeof Tls) => void): boolean {
  // Loaded on demand, by a synchronous function: loading TLS takes as long as starting Node.
  const tls = 'getBuiltinModule' in process ? process.getBuiltinModule('node:tls') : undefined
  if (tls === undefined || !('setDefaultCACertificates' in tls)) return false
  authorities.node ??= tls.getCACertificates('default')
  change(tls)
  tls.setDefaultCACertificates([...new Set([...authorities.node, ...authorities.system, ...authorities.more])])
  return true
}

/** Codes of OpenSSL and Node for an invalid certificate. */
const REFUSED = /CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/

/** An error of `fetch` has the network's error as its cause; one of node:https is that error. */
const causeOf = (error: unknown) => (error instanceof Error && error.cause !== undefined ? error.cause : error)

/** Whether a request failed because the server's certificate is signed by no known authority, or not valid. */
export const isUntrusted = (error: unknown): boolean => refusalOf(error) !== undefined

/** @returns what OpenSSL says about an untrusted certificate; undefined if the request failed for another reason */
function refusalOf(error: unknown): string | undefined {
  const cause = causeOf(error)
  const isRefused =
    cause instanceof Error && 'code' in cause && typeof cause.code === 'string' && REFUSED.test(cause.code)
  return isRefused ? cause.message : undefined
}

/**
 * Explains a failed request if more is known than that nothing answered: the network's proxy refuses, or the certificate is untrusted.
 *
 * @returns the detail for `unavailable`, with `why`
 */
export function knownFailure(error: unknown): ErrorDetail | undefined {
  const known = [error, causeOf(error)].find(isAppError)
  if (known?.code === 'unavailable') return known.detail
  const text = refusalOf(error)
  return text === undefined ? undefined : because('certificate_untrusted', { text })
}

/**
 * For the `catch` of a request: distinguishes an untrusted certificate from a server that is down.
 *
 * @throws AppError `unavailable` with the reason: an untrusted certificate, a proxy of the network, or no answer; an abort, and a fault of
 *   this computer that is explained already (a damaged list of certificates), is rethrown unchanged
 */
export function explainFailure(url: string, error: unknown): never {
  if (error instanceof Error && error.name === 'AbortError') throw error
  const own = [error, causeOf(error)].find(isAppError)
  if (own !== undefined && own.code !== 'unavailable') throw own
  const { origin } = new URL(url)
  throw new AppError('unavailable', knownFailure(error) ?? because('berth_away', { server: origin }), { cause: error })
}
