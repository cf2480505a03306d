// Node and browsers both have these globals; a contract is compiled without the types of either.
interface Bytes {
  readonly buffer: ArrayBufferLike
}
interface Key {
  readonly type: string
}
declare const crypto: {
  readonly subtle: {
    importKey(form: 'raw', key: Bytes, algorithm: object, extractable: false, uses: readonly ['sign']): Promise<Key>
    sign(algorithm: 'HMAC', key: Key, data: Bytes): Promise<ArrayBuffer>
  }
}
declare const TextEncoder: new () => { encode(text: string): Uint8Array }

export const hex = (bytes: ArrayBuffer | Uint8Array): string =>
  Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, '0')).join('')

/** HMAC-SHA256 of a text, in hex. Needs WebCrypto, which browsers offer only on https and localhost. */
export async function hmacOf(secret: string, text: string): Promise<string> {
  const utf8 = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', utf8.encode(secret), algorithm, false, ['sign'])
  return hex(await crypto.subtle.sign('HMAC', key, utf8.encode(text)))
}
