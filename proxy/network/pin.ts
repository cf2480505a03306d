import { createHash, type X509Certificate } from 'node:crypto'
import { inPairs } from '#base/hex-pairs'

/**
 * How a server whose certificate no authority vouches for is recognised: `key:AB:CD:… certificate:EF:01:…`. The first is the SHA-256 of the
 * public key (SPKI), which stays when a certificate is renewed; only it is checked. The second is the SHA-256 of the certificate that the
 * user accepted, as the user has compared it, and as browsers, `openssl` and `berth up` show it. Earlier versions of Berth kept the first
 * alone, or one certificate as `AB:CD:…`.
 */
export type Pin = string

const DIGITS = '(?:[0-9A-F]{2}:){31}[0-9A-F]{2}'
export const PIN = new RegExp(`^(?:key:(${DIGITS})(?: certificate:(${DIGITS}))?|${DIGITS})$`)

/** Certificate that a server has presented. */
export interface ShownCertificate {
  /** SHA-256 of the certificate, as browsers show it; people compare this. */
  readonly fingerprint: string
  /** SHA-256 of its public key. */
  readonly key: string
  /** Pin that recognises the server from now on. */
  readonly pin: Pin
}

export function shownOf(certificate: X509Certificate | undefined): ShownCertificate {
  if (!certificate) return { fingerprint: 'none', key: 'none', pin: 'none' }
  const spki = certificate.publicKey.export({ type: 'spki', format: 'der' })
  const key = inPairs(createHash('sha256').update(spki).digest('hex'))
  const fingerprint = certificate.fingerprint256
  return { fingerprint, key, pin: `key:${key} certificate:${fingerprint}` }
}

/**
 * Compares a pin with the server's certificate.
 *
 * @returns undefined if they match; else two fingerprints to show, of certificates, or of keys if the pin has only a key
 */
export function mismatch(
  pin: Pin,
  { fingerprint, key }: Pick<ShownCertificate, 'fingerprint' | 'key'>,
): { known: string; now: string } | undefined {
  const [, knownKey, known = knownKey === undefined ? pin : undefined] = PIN.exec(pin) ?? []
  if (knownKey === undefined ? known === fingerprint : knownKey === key) return undefined
  return known === undefined ? { known: knownKey ?? pin, now: key } : { known, now: fingerprint }
}
