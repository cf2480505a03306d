import { createHash, type X509Certificate } from 'node:crypto'
import { inPairs } from '#manager/contract/light'

/**
 * How a server whose certificate no authority vouches for is recognised: `key:AB:CD:…`, SHA-256 of its public key (SPKI), which a
 * renewed certificate keeps; or, as earlier versions of Berth kept it, `AB:CD:…`, SHA-256 of one certificate.
 */
export type Pin = string

export const PIN = /^(key:)?([0-9A-F]{2}:){31}[0-9A-F]{2}$/

/** What a server has shown of itself. */
export interface ShownCertificate {
  /** SHA-256 of the certificate, as browsers show it; people compare it. */
  readonly fingerprint: string
  /** Recognises the server from now on. */
  readonly pin: Pin
}

export function shownOf(certificate: X509Certificate | undefined): ShownCertificate {
  if (!certificate) return { fingerprint: 'none', pin: 'none' }
  const spki = certificate.publicKey.export({ type: 'spki', format: 'der' })
  const key = createHash('sha256').update(spki).digest('hex')
  return { fingerprint: certificate.fingerprint256, pin: `key:${inPairs(key)}` }
}

/** @returns the fingerprints that differ; undefined if the pin is that of the server */
export function mismatch(pin: Pin, shown: ShownCertificate): { known: string; now: string } | undefined {
  const now = pin.startsWith('key:') ? shown.pin : shown.fingerprint
  if (now === pin) return undefined
  return { known: pin.replace('key:', ''), now: now.replace('key:', '') }
}
