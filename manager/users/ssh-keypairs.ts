import ssh2 from 'ssh2'
import { type NewSshKeypair, type SshKeypair } from '#manager/contract'
import { type Store } from '../store/open-store.ts'
import { findSshPublicKey, lockUser, setSshPublicKey } from '../store/identity/users.ts'
import { type Caller } from './authorize.ts'
import { newsOfSet } from './set-by-keypair.ts'
import { parsePublicKey } from './ssh-public-key.ts'
import { requireStillSignedIn } from './still-authorized.ts'
import { type AccountNotifier } from './account-notifier.ts'

/**
 * The SSH key of a user. Only its public half is stored. A session authorises the key that its owner has when the kernels of the session
 * are started. The owner is informed of a key that is set with a keypair (`set-by-keypair.ts`).
 */
export interface SshKeypairs {
  get(caller: Caller): Promise<SshKeypair>
  /** The private half is only in the reply. @throws AppError `not_signed_in` (ended meanwhile) */
  generate(caller: Caller): Promise<NewSshKeypair>
  /** @throws AppError `ssh_key_invalid`, `not_signed_in` (ended meanwhile) */
  set(caller: Caller, publicKey: string): Promise<SshKeypair>
  remove(caller: Caller): Promise<void>
}

export interface SshKeypairsDeps {
  readonly store: Store
  readonly notifier: Pick<AccountNotifier, 'write' | 'announce'>
}

export function createSshKeypairs({ store, notifier }: SshKeypairsDeps): SshKeypairs {
  const { db } = store

  async function put(caller: Caller, line: string): Promise<void> {
    const news = await store.transaction(async trx => {
      await lockUser(trx, caller.userId)
      await requireStillSignedIn(trx, caller)
      await setSshPublicKey(trx, caller.userId, { line, accessKey: caller.keypair })
      const news = await newsOfSet(trx, caller, 'own_ssh_key_by_keypair')
      await notifier.write(trx, news)
      return news
    })
    await notifier.announce(news)
  }

  return {
    async get({ userId }) {
      const line = await findSshPublicKey(db, userId)
      if (line === null) return { publicKey: null, fingerprint: null }
      return { publicKey: line, fingerprint: parsePublicKey(line).fingerprint }
    },
    async generate(caller) {
      const { publicKey, privateKey } = await newKeypair(caller.email)
      const { line, fingerprint } = parsePublicKey(publicKey)
      await put(caller, line)
      return { publicKey: line, fingerprint, privateKey }
    },
    async set(caller, publicKey) {
      const { line, fingerprint } = parsePublicKey(publicKey)
      await put(caller, line)
      return { publicKey: line, fingerprint }
    },
    remove: ({ userId }) => setSshPublicKey(db, userId, { line: null, accessKey: null }),
  }
}

/** `ssh2` creates an unusable pair in about 0.3 % of its calls (`newKeypair`). */
const ATTEMPTS = 10

/** ssh2 drops a leading zero byte of the public key in about 0.3 % of its pairs, so each pair is parsed to check it. */
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
