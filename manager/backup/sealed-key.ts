import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { z } from 'zod'
import { AppError } from '#manager/contract'

/**
 * The master key in a backup, encrypted under a passphrase.
 *
 * Threat model: an attacker with the file may try passphrases without end, so each try costs scrypt with 128 MiB.
 * AES-256-GCM detects a wrong passphrase or a changed file. The key and the passphrase are never logged.
 */
export const SealedKey = z.object({ salt: z.base64(), nonce: z.base64(), tag: z.base64(), sealed: z.base64() })
export type SealedKey = z.infer<typeof SealedKey>

const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 2 ** 28 } as const
const PURPOSE = Buffer.from('berth backup, master key, 1')
export const SHORTEST_PASSPHRASE = 12

/** @throws AppError `bad_request` for a passphrase that is too short */
export async function sealKey(key: Buffer, passphrase: string): Promise<SealedKey> {
  if (passphrase.length < SHORTEST_PASSPHRASE)
    throw new AppError('bad_request', { why: `The passphrase needs at least ${SHORTEST_PASSPHRASE} characters.` })
  const [salt, nonce] = [randomBytes(16), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', await derive(passphrase, salt), nonce).setAAD(PURPOSE)
  const sealed = Buffer.concat([cipher.update(key), cipher.final()])
  const base64 = (bytes: Buffer) => bytes.toString('base64')
  return { salt: base64(salt), nonce: base64(nonce), tag: base64(cipher.getAuthTag()), sealed: base64(sealed) }
}

/** @throws AppError `bad_request` for a wrong passphrase */
export async function openKey(key: SealedKey, passphrase: string): Promise<Buffer> {
  const bytes = (text: string) => Buffer.from(text, 'base64')
  try {
    const secret = await derive(passphrase, bytes(key.salt))
    const decipher = createDecipheriv('aes-256-gcm', secret, bytes(key.nonce), { authTagLength: 16 })
    decipher.setAAD(PURPOSE).setAuthTag(bytes(key.tag))
    return Buffer.concat([decipher.update(bytes(key.sealed)), decipher.final()])
  } catch (error) {
    throw new AppError('bad_request', { why: 'The passphrase of the master key is wrong.' }, { cause: error })
  }
}

function derive(passphrase: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, 32, COST, (error, secret) => (error ? reject(error) : resolve(secret)))
  })
}
