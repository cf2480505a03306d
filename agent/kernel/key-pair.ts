import ssh2 from 'ssh2'

export interface KeyPair {
  /** OpenSSH format. */
  readonly private: string
  /** `ssh-ed25519 AAAA… comment` */
  readonly public: string
}

/** Enough attempts: a single one fails once in three hundred times. */
const ATTEMPTS = 10

/**
 * A new Ed25519 key pair for SSH. ssh2 drops a leading zero byte of the public key, which makes about 0.3 % of its pairs
 * unusable, so each pair is read back before it is handed out.
 */
export async function createKeyPair(comment: string): Promise<KeyPair> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const pair = await generate(comment)
    if (isUsable(pair)) return pair
  }
  throw new Error('ssh2 made no usable key pair')
}

/** Whether the private key can be parsed and its public half (32 bytes behind name and lengths) equals the public key. */
export function isUsable(pair: KeyPair): boolean {
  const privateKey = ssh2.utils.parseKey(pair.private)
  const publicKey = ssh2.utils.parseKey(pair.public)
  if (privateKey instanceof Error || publicKey instanceof Error) return false
  return publicKey.getPublicSSH().length === 51 && privateKey.getPublicSSH().equals(publicKey.getPublicSSH())
}

function generate(comment: string): Promise<KeyPair> {
  return new Promise((resolve, reject) => {
    ssh2.utils.generateKeyPair('ed25519', { comment }, (error: Error | null, pair) => {
      if (error) reject(error)
      else resolve(pair)
    })
  })
}
