import { inOneForm } from '#base/normal-forms'
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { z } from 'zod'
import { AppError } from '#manager/contract'

/**
 * A key in a backup, the master key or that of Berth's own certificate, encrypted under a passphrase.
 *
 * Threat model: an attacker with the file may try any number of passphrases, so each try costs scrypt with 128 MiB. AES-256-GCM detects a
 * wrong passphrase or a changed file. The key and the passphrase are never logged.
 */
export const SealedKey = z.object({ salt: z.base64(), nonce: z.base64(), tag: z.base64(), sealed: z.base64() })
export type SealedKey = z.infer<typeof SealedKey>

const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 } as const
/** Bound to the purpose of each key, so that one key cannot replace another. */
const PURPOSES = { master: 'berth backup, master key, 1', tls: 'berth backup, TLS key, 1' } as const
type Purpose = keyof typeof PURPOSES
export const SHORTEST_PASSPHRASE = 12

/** @throws AppError `bad_request` for a passphrase that is too short */
export async function sealKey(key: Buffer, passphrase: string, purpose: Purpose): Promise<SealedKey> {
  if (passphrase.length < SHORTEST_PASSPHRASE)
    throw new AppError('bad_request', { why: `The passphrase needs at least ${SHORTEST_PASSPHRASE} characters.` })
  const [salt, nonce] = [randomBytes(16), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', await derive(passphrase, salt), nonce).setAAD(
    Buffer.from(PURPOSES[purpose]),
  )
  const sealed = Buffer.concat([cipher.update(key), cipher.final()])
  const base64 = (bytes: Buffer) => bytes.toString('base64')
  return { salt: base64(salt), nonce: base64(nonce), tag: base64(cipher.getAuthTag()), sealed: base64(sealed) }
}

/** @throws AppError `bad_request` for a wrong passphrase */
export async function openKey(key: SealedKey, passphrase: string, purpose: Purpose): Promise<Buffer> {
  const bytes = (text: string) => Buffer.from(text, 'base64')
  try {
    const secret = await derive(passphrase, bytes(key.salt))
    const decipher = createDecipheriv('aes-256-gcm', secret, bytes(key.nonce), { authTagLength: 16 })
    decipher.setAAD(Buffer.from(PURPOSES[purpose])).setAuthTag(bytes(key.tag))
    return Buffer.concat([decipher.update(bytes(key.sealed)), decipher.final()])
  } catch (error) {
    throw new AppError('bad_request', { why: 'The passphrase of the master key is wrong.' }, { cause: error })
  }
}

function derive(passphrase: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(inOneForm(passphrase), salt, 32, COST, (error, secret) => (error ? reject(error) : resolve(secret)))
  })
}
