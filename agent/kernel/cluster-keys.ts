import { createHmac, createPrivateKey, createPublicKey } from 'node:crypto'
import { type KeyPair } from './key-pair.ts'

/** PKCS #8 header of an Ed25519 private key; its 32 bytes follow (RFC 8410, section 7). */
const PKCS8_HEADER = Buffer.from('302e020100300506032b657004220420', 'hex')
const TYPE = 'ssh-ed25519'
const LINE = 70

/** The SSH keys that all kernels of one session share. */
export interface ClusterKeys {
  /** Key of their servers: one line of known_hosts is enough for all of them. */
  readonly host: KeyPair
  /** Key with which they log in to each other. */
  readonly login: KeyPair
}

/**
 * Derives the SSH keys of a session from the seed that its manager sends with each kernel, so that agents need not tell each other anything.
 * @param seed a secret of this session and attempt
 */
export function clusterKeysOf(seed: string): ClusterKeys {
  const derive = (purpose: string, comment: string) =>
    pairOf(createHmac('sha256', seed).update(purpose).digest(), comment)
  return { host: derive('host', 'berth cluster'), login: derive('login', 'id_container') }
}

/** @param secret 32 bytes */
function pairOf(secret: Buffer, comment: string): KeyPair {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEADER, secret]), format: 'der', type: 'pkcs8' })
  const open = Buffer.from(createPublicKey(key).export({ format: 'jwk' }).x ?? '', 'base64url')
  const blob = Buffer.concat([text(TYPE), text(open)])
  return {
    public: `${TYPE} ${blob.toString('base64')} ${comment}`,
    private: privateFile({ secret, open, blob, comment }),
  }
}

/** An unencrypted private key in the format of OpenSSH. @see PROTOCOL.key of OpenSSH */
function privateFile({ secret, open, blob, comment }: { secret: Buffer; open: Buffer; blob: Buffer; comment: string }) {
  // Two equal numbers, by which a reader sees that it has decrypted the key.
  const check = createHmac('sha256', secret).update('check').digest().subarray(0, 4)
  const inner = Buffer.concat([check, check, blob, text(Buffer.concat([secret, open])), text(comment)])
  const padding = Buffer.from(Array.from({ length: (8 - (inner.length % 8)) % 8 }, (_, index) => index + 1))
  const count = Buffer.from([0, 0, 0, 1])
  const outer = [Buffer.from('openssh-key-v1\0'), text('none'), text('none'), text(''), count, text(blob)]
  const base64 = Buffer.concat([...outer, text(Buffer.concat([inner, padding]))]).toString('base64')
  const lines = base64.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? []
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n')
}

/** A string as the SSH protocol writes it: its length in four bytes, then its bytes (RFC 4251, section 5). */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
