/**
 * Signing a request with a keypair, Berth's own scheme. The secret key never travels: what travels is an HMAC-SHA256 over
 * everything that says what the request does. `docs/api-signing.md` tells it in words, with examples for shell and Python.
 */

/** In the Authorization header: `Berth-HMAC-SHA256 Credential=<access key>, Nonce=<nonce>, Signature=<hex>`. */
export const SIGNATURE_SCHEME = 'Berth-HMAC-SHA256'
/** ISO 8601, UTC; a browser does not let a page set `Date`. */
export const SIGNED_DATE_HEADER = 'x-berth-date'
/** SHA-256 of the body's bytes, hex; of no bytes where there is no body. */
export const BODY_HASH_HEADER = 'x-berth-content-sha256'
/** How far the date of a signed request may be from the server's. */
export const SIGNATURE_WINDOW_SECONDS = 15 * 60
export const EMPTY_BODY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

export interface SigningKeypair {
  readonly accessKey: string
  readonly secretKey: string
}

export interface SignableRequest {
  readonly method: string
  /** Absolute, as it is handed to `fetch`. */
  readonly url: string
  readonly body?: string | undefined
}

/** The parts of a request that its signature covers. */
export interface SignedParts {
  readonly method: string
  /** Path with query, exactly as sent. */
  readonly target: string
  /** Host header, with the port where it has one. */
  readonly host: string
  readonly date: string
  /** 16 to 64 letters, digits, `-` and `_`, never used before with this keypair. */
  readonly nonce: string
  readonly bodyHash: string
}

/** What the HMAC is made of: lines without an end of the last one. */
export function stringToSign({ method, target, host, date, nonce, bodyHash }: SignedParts): string {
  return [SIGNATURE_SCHEME, method.toUpperCase(), target, host.toLowerCase(), date, nonce, bodyHash].join('\n')
}

// Node and browsers have these; a contract sees the types of neither.
interface Bytes {
  readonly buffer: ArrayBufferLike
}
interface Key {
  readonly type: string
}
declare const crypto: {
  getRandomValues(array: Uint8Array): Uint8Array
  readonly subtle: {
    digest(algorithm: 'SHA-256', data: Bytes): Promise<ArrayBuffer>
    importKey(form: 'raw', key: Bytes, algorithm: object, extractable: false, uses: readonly ['sign']): Promise<Key>
    sign(algorithm: 'HMAC', key: Key, data: Bytes): Promise<ArrayBuffer>
  }
}
declare const TextEncoder: new () => { encode(text: string): Uint8Array }
declare const URL: new (url: string) => { readonly host: string; readonly pathname: string; readonly search: string }

const hex = (bytes: ArrayBuffer | Uint8Array) =>
  Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, '0')).join('')

/**
 * The headers that sign this request, once: for a repetition sign again. WebCrypto: in browsers only on https and
 * localhost.
 */
export async function signRequest(
  request: SignableRequest,
  { accessKey, secretKey }: SigningKeypair,
  now = new Date(),
): Promise<Record<string, string>> {
  const utf8 = new TextEncoder()
  const { host, pathname, search } = new URL(request.url)
  const date = now.toISOString()
  const nonce = hex(crypto.getRandomValues(new Uint8Array(16)))
  const bodyHash = hex(await crypto.subtle.digest('SHA-256', utf8.encode(request.body ?? '')))
  const text = stringToSign({ method: request.method, target: pathname + search, host, date, nonce, bodyHash })
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', utf8.encode(secretKey), algorithm, false, ['sign'])
  const signature = hex(await crypto.subtle.sign('HMAC', key, utf8.encode(text)))
  return {
    authorization: `${SIGNATURE_SCHEME} Credential=${accessKey}, Nonce=${nonce}, Signature=${signature}`,
    [SIGNED_DATE_HEADER]: date,
    [BODY_HASH_HEADER]: bodyHash,
  }
}
