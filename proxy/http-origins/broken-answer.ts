/** Diagnosis of an app's bytes that are not a readable answer. */
export type BrokenAnswer =
  /** The parser's reason. */
  | { readonly kind: 'invalid'; readonly reason: string }
  /** A TLS alert: the app speaks https. */
  | { readonly kind: 'tls' }
  /** No TLS, although the app was said to speak https. */
  | { readonly kind: 'no_tls' }
  /** The app accepted the request and closed the connection without an answer. */
  | { readonly kind: 'none' }

/** First byte of a TLS alert (RFC 8446 section 5.1). */
const ALERT = 0x15

/** @returns undefined for an error that does not come from the bytes of the app */
export function brokenAnswerOf(error: unknown): BrokenAnswer | undefined {
  if (!(error instanceof Error)) return undefined
  const { code = '', reason, rawPacket } = error as Error & { code?: string; reason?: string; rawPacket?: Uint8Array }
  if (code === 'ECONNRESET') return { kind: 'none' }
  if (code.startsWith('ERR_SSL_')) return { kind: 'no_tls' }
  if (!code.startsWith('HPE_')) return undefined
  return rawPacket?.[0] === ALERT ? { kind: 'tls' } : { kind: 'invalid', reason: reason ?? code }
}
