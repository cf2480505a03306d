import { hex, hmacOf } from './hmac.ts'

/**
 * Berth's own scheme for signing a request with a keypair. The secret key is never sent: the request carries an
 * HMAC-SHA256 over everything that determines its effect. `docs/api-signing.md` explains the scheme, with examples for
 * shell and Python.
 */

/** Scheme of the Authorization header: `Berth-HMAC-SHA256 Credential=<access key>, Nonce=<nonce>, Signature=<hex>`. */
export const SIGNATURE_SCHEME = 'Berth-HMAC-SHA256'
/** Date of a signed request, ISO 8601 in UTC. The header `Date` is not used, because a browser does not let a page set it. */
export const SIGNED_DATE_HEADER = 'x-berth-date'
/** SHA-256 of the body, hex; a request without a body sends the hash of zero bytes. */
export const BODY_HASH_HEADER = 'x-berth-content-sha256'
/** Largest difference between the date of a signed request and the server's clock. */
export const SIGNATURE_WINDOW_SECONDS = 15 * 60
export const EMPTY_BODY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Form of an access key. */
export const ACCESS_KEY = /^AKIA[A-Z2-7]{16}$/

export interface SigningKeypair {
  readonly accessKey: string
  readonly secretKey: string
}

export interface SignableRequest {
  readonly method: string
  /** Absolute URL, as passed to `fetch`. */
  readonly url: string
  readonly body?: string | Uint8Array | undefined
}

/** The parts of a request that its signature covers. */
export interface SignedParts {
  readonly method: string
  /** Path with query, exactly as sent. */
  readonly target: string
  /** Host header, with the port if it has one. */
  readonly host: string
  readonly date: string
  /** 16 to 64 letters, digits, `-` and `_`, never used before with this keypair. */
  readonly nonce: string
  readonly bodyHash: string
}

/** Input of the HMAC: lines joined by LF, without an LF after the last one. */
export function stringToSign({ method, target, host, date, nonce, bodyHash }: SignedParts): string {
  return [SIGNATURE_SCHEME, method.toUpperCase(), target, host.toLowerCase(), date, nonce, bodyHash].join('\n')
}

// Node and browsers both have these globals; a contract is compiled without the types of either.
interface Bytes {
  readonly buffer: ArrayBufferLike
}
declare const crypto: {
  getRandomValues(array: Uint8Array): Uint8Array
  readonly subtle: {
    digest(algorithm: 'SHA-256', data: Bytes): Promise<ArrayBuffer>
  }
}
declare const TextEncoder: new () => { encode(text: string): Uint8Array }
declare const URL: new (url: string) => { readonly host: string; readonly pathname: string; readonly search: string }

/**
 * Makes the headers that sign this request. They are valid for one attempt: sign again before a retry. Needs WebCrypto, which browsers
 * offer only on https and localhost.
 */
export async function signRequest(
  request: SignableRequest,
  { accessKey, secretKey }: SigningKeypair,
  now = new Date(),
): Promise<Record<string, string>> {
  const utf8 = new TextEncoder()
  const { host, pathname, search } = new URL(request.url)
  const { body = '' } = request
  const date = now.toISOString()
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)))
  const bodyHash = hex(await crypto.subtle.digest('SHA-256', typeof body === 'string' ? utf8.encode(body) : body))
  const text = stringToSign({ method: request.method, target: pathname + search, host, date, nonce, bodyHash })
  const signature = await hmacOf(secretKey, text)
  return {
    authorization: `${SIGNATURE_SCHEME} Credential=${accessKey}, Nonce=${nonce}, Signature=${signature}`,
    [SIGNED_DATE_HEADER]: date,
    [BODY_HASH_HEADER]: bodyHash,
  }
}
