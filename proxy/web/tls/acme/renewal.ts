import { createHash } from 'node:crypto'
import { type CertificateFacts } from '#manager/contract'

/** Failed orders so far; kept on disk, so that a server that restarts again and again does not exhaust the authority's limits. */
export interface Failures {
  readonly count: number
  /** Milliseconds since 1970. */
  readonly lastAt: number
  readonly why: string
}

const MINUTE_MS = 60_000
/** First pause after a failed order; doubled up to the longest. Let's Encrypt allows five failures an hour for a name. */
const FIRST_PAUSE_MS = 15 * MINUTE_MS
const LONGEST_PAUSE_MS = 12 * 60 * MINUTE_MS

/**
 * When to order the next certificate: after two thirds of the present one's lifetime, plus up to a twelfth of it, so that many servers do
 * not order at once. The time for a certificate is always the same, also after a restart. Pure.
 */
export function renewAt({ notBefore, notAfter, fingerprint }: CertificateFacts): number {
  const [from, until] = [Date.parse(notBefore), Date.parse(notAfter)]
  return from + (until - from) * (2 / 3 + fraction(fingerprint) / 12)
}

/** When to try again after failures: a pause that doubles, plus up to a quarter, derived from the failure. Pure. */
export function retryAt({ count, lastAt, why }: Failures): number {
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(count - 1, 10), LONGEST_PAUSE_MS)
  return lastAt + pause * (1 + fraction(`${lastAt} ${why}`) / 4)
}

/** 0 to 1, the same for the same text. */
const fraction = (text: string) => createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
