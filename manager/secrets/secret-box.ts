import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { AppError } from '#manager/contract'

/** A 256-bit key, with the id by which ciphertexts and the database refer to it. */
export interface MasterKey {
  readonly id: string
  readonly key: Buffer
}

export const MASTER_KEY_BYTES = 32

export function toMasterKey(key: Buffer): MasterKey {
  if (key.length !== MASTER_KEY_BYTES) throw new RangeError(`a master key has ${MASTER_KEY_BYTES} bytes`)
  return { id: createHash('sha256').update('berth.master-key\n').update(key).digest('hex').slice(0, 16), key }
}

/**
 * Encrypts at rest the secrets that we need back in plain text: of keypairs, authenticator apps, registries and the mail server, the
 * managers' key, and answers kept for retries.
 *
 * Threat model: an attacker who gets the database alone (a dump, a backup, a replica, an SQL injection that reads) learns no secret,
 * because the key is in a file and never in the database. An attacker who can write the database cannot move one row's secret into another,
 * because the context is authenticated with the secret, nor change a secret without detection. An attacker who has both, or the memory of
 * the manager, has everything; so do not keep the key file beside the backup.
 */
export interface SecretBox {
  /** Key with which new secrets are encrypted. */
  readonly keyId: string
  /** Whether secrets encrypted with this key can be decrypted. */
  has(keyId: string): boolean
  /** @param context owner of the secret, e.g. `keypair:AKIA…`; needed to decrypt it again */
  seal(secret: string, context: string): string
  /** @throws Error if the secret was changed or belongs to another context; AppError `master_key_mismatch` if its key is not available */
  open(sealed: string, context: string): string
  /**
   * Makes a MAC that proves that this Berth wrote a text. Every manager with the master key can check it, also a restored one.
   * @param purpose gives each purpose an independent key
   * @returns HMAC-SHA-256 under the current key, base64url
   */
  mac(text: string, purpose: string): string
  /** Whether `mac` made this MAC, with the current key or with an older one in the key file. */
  isMac(mac: string, text: string, purpose: string): boolean
}

const VERSION = 'v1'
const ALGORITHM = 'aes-256-gcm'
/** The nonce is random per secret. Random nonces of one key become a risk at 2^32 secrets; we seal far fewer. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** @param keys the first one encrypts; the others only decrypt secrets that a rotation has not reached */
export function createSecretBox(keys: readonly [MasterKey, ...MasterKey[]]): SecretBox {
  const [current] = keys
  const byId = new Map(keys.map(({ id, key }) => [id, key]))
  const macKeys = new Map<string, readonly Buffer[]>()
  /** MAC keys of a purpose, one per master key, the current one first. */
  const macKeysFor = (purpose: string): readonly Buffer[] => {
    const derive = ({ key }: MasterKey) => Buffer.from(hkdfSync('sha256', key, '', `berth.mac.v1\n${purpose}`, 32))
    const derived = macKeys.get(purpose) ?? keys.map(derive)
    macKeys.set(purpose, derived)
    return derived
  }
  const macWith = (key: Buffer, text: string) => createHmac('sha256', key).update(text, 'utf8').digest()
  return {
    keyId: current.id,
    has: keyId => byId.has(keyId),

    seal(secret, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, current.key, nonce).setAAD(boundTo(current.id, context))
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return [VERSION, current.id, Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url')].join('.')
    },

    mac(text, purpose) {
      const [key] = macKeysFor(purpose)
      if (!key) throw new Error('there is no master key')
      return macWith(key, text).toString('base64url')
    },

    isMac(mac, text, purpose) {
      const given = Buffer.from(mac, 'base64url')
      return macKeysFor(purpose).some(key => {
        const expected = macWith(key, text)
        return given.length === expected.length && timingSafeEqual(given, expected)
      })
    },

    open(sealed, context) {
      const [version, id = '', data = '', ...more] = sealed.split('.')
      const key = byId.get(id)
      const bytes = Buffer.from(data, 'base64url')
      if (version !== VERSION || more.length > 0 || bytes.length < NONCE_BYTES + TAG_BYTES) {
        throw new Error('this is no sealed secret')
      }
      if (!key) {
        const why = `The secret is sealed with master key ${id}, which this manager does not have. Put that key into its file, and start it again.`
        throw new AppError('master_key_mismatch', { why, keyId: id })
      }
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(boundTo(id, context))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    },
  }
}

function boundTo(id: string, context: string): Buffer {
  return Buffer.from(`${VERSION}.${id}.${context}`)
}
