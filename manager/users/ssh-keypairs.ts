import ssh2 from 'ssh2'
import { type NewSshKeypair, type SshKeypair } from '#manager/contract'
import { type Store } from '../store/open-store.ts'
import { findSshPublicKey, setSshPublicKey } from '../store/identity/users.ts'
import { type Caller } from './authorize.ts'
import { parsePublicKey } from './ssh-public-key.ts'

/**
 * The SSH key of a user. Only its public half is stored. A session authorises the key that its owner has when the kernels
 * of the session are started.
 */
export interface SshKeypairs {
  get(caller: Caller): Promise<SshKeypair>
  /** The private half is in the reply and nowhere else. */
  generate(caller: Caller): Promise<NewSshKeypair>
  /** @throws AppError `ssh_key_invalid` */
  set(caller: Caller, publicKey: string): Promise<SshKeypair>
  remove(caller: Caller): Promise<void>
}

export function createSshKeypairs({ db }: Pick<Store, 'db'>): SshKeypairs {
  return {
    async get({ userId }) {
      const line = await findSshPublicKey(db, userId)
      if (line === null) return { publicKey: null, fingerprint: null }
      return { publicKey: line, fingerprint: parsePublicKey(line).fingerprint }
    },
    async generate({ userId, email }) {
      const { publicKey, privateKey } = await newKeypair(email)
      const { line, fingerprint } = parsePublicKey(publicKey)
      await setSshPublicKey(db, userId, line)
      return { publicKey: line, fingerprint, privateKey }
    },
    async set({ userId }, publicKey) {
      const { line, fingerprint } = parsePublicKey(publicKey)
      await setSshPublicKey(db, userId, line)
      return { publicKey: line, fingerprint }
    },
    remove: ({ userId }) => setSshPublicKey(db, userId, null),
  }
}

/** `ssh2` makes an unusable pair in about 0.3 % of its calls (`newKeypair`). */
const ATTEMPTS = 10

/** ssh2 drops a leading zero byte of the public key in about 0.3 % of its pairs; so each one is read back. */
async function newKeypair(comment: string): Promise<{ publicKey: string; privateKey: string }> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { public: publicKey, private: privateKey } = await generate(comment)
    const read = ssh2.utils.parseKey(privateKey)
    if (!(read instanceof Error) && parses(publicKey)) return { publicKey, privateKey }
  }
  throw new Error('ssh2 made no usable key pair')
}

function parses(publicKey: string): boolean {
  try {
    parsePublicKey(publicKey)
    return true
  } catch {
    return false // not a usable key
  }
}

function generate(comment: string): Promise<{ public: string; private: string }> {
  return new Promise((resolve, reject) => {
    ssh2.utils.generateKeyPair('ed25519', { comment }, (error: Error | null, pair) => {
      if (error) reject(error)
      else resolve(pair)
    })
  })
}
