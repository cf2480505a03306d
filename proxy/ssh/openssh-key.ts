import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { AppError, because } from '#manager/contract'

/** Reads the length-prefixed fields of SSH (RFC 4251 section 5). */
export interface SshReader {
  uint32(): number
  /** A `string`: uint32 length, then bytes. */
  bytes(): Buffer
}

export function createSshReader(data: Buffer): SshReader {
  let at = 0
  const take = (length: number) => {
    if (at + length > data.length) throw new RangeError('the key is cut short')
    at += length
    return data.subarray(at - length, at)
  }
  const uint32 = () => take(4).readUInt32BE()
  return { uint32, bytes: () => take(uint32()) }
}

export function sshString(value: Buffer | string): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

export interface PrivateKey {
  readonly type: 'ssh-ed25519' | 'ssh-rsa'
  /** Public blob, as base64-encoded in authorized_keys. */
  readonly publicBlob: Buffer
  /** The private fields in PuTTY's order and format. */
  readonly putty: Buffer
  readonly comment: string
}

export interface KeyPair {
  /** OpenSSH format. */
  readonly privateKey: string
  /** The key in one line, as in a `.pub` file. */
  readonly publicKey: string
}

const MAGIC = 'openssh-key-v1\0'

/**
 * Parses an unencrypted private key of OpenSSH (PROTOCOL.key): magic, cipher, kdf, kdf options, number of keys, public
 * blob, and the private section (two equal check numbers, type, fields, comment, padding).
 * @throws AppError `bad_request` for anything else
 */
export function parseOpensshKey(text: string): PrivateKey {
  try {
    const body = /-----BEGIN OPENSSH PRIVATE KEY-----([\s\S]+?)-----END OPENSSH PRIVATE KEY-----/.exec(text)?.[1]
    const data = Buffer.from((body ?? '').replace(/\s+/g, ''), 'base64')
    if (data.subarray(0, MAGIC.length).toString('latin1') !== MAGIC) throw new Error('not an OpenSSH private key')
    const outer = createSshReader(data.subarray(MAGIC.length))
    if (outer.bytes().toString() !== 'none') throw new Error('the key has a passphrase')
    outer.bytes() // kdf
    outer.bytes() // kdf options
    if (outer.uint32() !== 1) throw new Error('not exactly one key')
    const publicBlob = outer.bytes()
    const inner = createSshReader(outer.bytes())
    if (inner.uint32() !== inner.uint32()) throw new Error('the check numbers differ')
    return { ...privateFields(inner), publicBlob, comment: inner.bytes().toString() }
  } catch (error) {
    const text = error instanceof Error ? error.message : 'unreadable'
    throw new AppError('bad_request', because('ssh_key_damaged', { text }), { cause: error })
  }
}

/**
 * Makes an ed25519 key pair, the private half as an unencrypted OpenSSH key.
 *
 * @see RFC 8709 section 4 for the public blob
 */
export function newKeyPair(comment: string): KeyPair {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const [publicKey, seed] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')]
  const type = 'ssh-ed25519'
  const publicBlob = Buffer.concat([sshString(type), sshString(publicKey)])
  const check = randomBytes(4)
  const inner = [check, check, ...[type, publicKey, Buffer.concat([seed, publicKey]), comment].map(sshString)]
  const unpadded = Buffer.concat(inner)
  const padding = Buffer.from(Array.from({ length: -unpadded.length & 7 }, (_, index) => index + 1))
  const one = Buffer.from([0, 0, 0, 1])
  const outer = [Buffer.from(MAGIC), ...['none', 'none', ''].map(sshString), one, sshString(publicBlob)]
  const data = Buffer.concat([...outer, sshString(Buffer.concat([unpadded, padding]))])
  const lines = data.toString('base64').match(/.{1,70}/g) ?? []
  return {
    privateKey: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n'),
    publicKey: `${type} ${publicBlob.toString('base64')} ${comment}`,
  }
}

/** The public half of a private key, as one line of a `.pub` file. */
export function publicLineOf({ type, publicBlob, comment }: PrivateKey): string {
  return `${type} ${publicBlob.toString('base64')} ${comment}`.trim()
}

function privateFields(inner: SshReader): Pick<PrivateKey, 'type' | 'putty'> {
  const type = inner.bytes().toString()
  if (type === 'ssh-ed25519') {
    inner.bytes() // public key
    // OpenSSH stores seed and public key (64 bytes), PuTTY only the seed.
    return { type, putty: sshString(inner.bytes().subarray(0, 32)) }
  }
  if (type === 'ssh-rsa') {
    inner.bytes() // n
    inner.bytes() // e
    const [d, iqmp, p, q] = [inner.bytes(), inner.bytes(), inner.bytes(), inner.bytes()]
    return { type, putty: Buffer.concat([sshString(d), sshString(p), sshString(q), sshString(iqmp)]) }
  }
  throw new Error(`keys of type ${type} are not supported`)
}
