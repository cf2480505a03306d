import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError, type Because, because } from '#manager/contract'

/** Text (base64) with an Ed25519 signature (base64) over a prefix and its bytes. */
export const SignedText = z.object({ signed: z.base64(), signature: z.base64() })
export type SignedText = z.infer<typeof SignedText>

/** Content of a handover, signed by the key before. */
const Handover = z.object({
  /** Ed25519 public key that signs lists from now on: base64 of its SPKI form. */
  publicKey: z.base64(),
})

/** Prefix of the signed bytes of a handover, so that a list of updates can never pass for one. */
export const HANDOVER_SIGNED_AS = 'berth-update-key-v1\n'
export const MAX_HANDOVERS = 20

/** Newest key that an app has followed. It can only reject lists: it is compared, never used to verify. */
export interface KeySeen {
  /** Fingerprint of the key that the package pins. */
  readonly pinned: string
  /** Fingerprint of the key that signed the newest list. */
  readonly current: string
}

/** SHA-256 (hex) of a public key's SPKI form. */
export const fingerprintOf = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex')

/** @returns AppError `forbidden` for a list of updates that is not trusted */
export const refuseList = (why: Because): AppError => new AppError('forbidden', why)

/** Verifies a signature before anything is parsed. @returns the bytes; undefined if the signature or the key is not valid */
export function openSigned(text: SignedText, prefix: string, publicKey: string): Buffer | undefined {
  const bytes = Buffer.from(text.signed, 'base64')
  const signature = Buffer.from(text.signature, 'base64')
  const key = keyOf(publicKey)
  return key && verify(null, Buffer.concat([Buffer.from(prefix), bytes]), key, signature) ? bytes : undefined
}

/**
 * Follows the handovers from the key that this package pins to the key that signs now. Threat model: the list comes from anybody, and an
 * earlier key may have been stolen after it was replaced. So each handover counts only with the signature of the key before it, and an app
 * that has followed one never goes back, nor to another successor.
 *
 * @param handovers all that were ever made, oldest first; those before the pinned key are skipped
 * @param seen undefined, or of another pinned key: nothing was followed yet from this one
 * @returns public key (base64, SPKI)
 * @throws AppError `forbidden` for a handover that the key before did not sign, and if `seen` is not among the keys
 */
export function followHandovers(pinned: string, handovers: readonly SignedText[], seen: KeySeen | undefined): string {
  const keys = [pinned]
  let current = pinned
  for (const handover of handovers) {
    const bytes = openSigned(handover, HANDOVER_SIGNED_AS, current)
    if (bytes === undefined) {
      if (keys.length === 1) continue
      throw refuseList(because('updates_key_foreign'))
    }
    const next = Handover.safeParse(parseJson(bytes.toString())).data?.publicKey
    // A key that was replaced never comes back.
    if (next === undefined || !keyOf(next) || keys.includes(next)) throw refuseList(because('updates_key_damaged'))
    keys.push((current = next))
  }
  if (seen?.pinned === fingerprintOf(pinned) && !keys.map(fingerprintOf).includes(seen.current))
    throw refuseList(because('updates_key_replaced'))
  return current
}

/** @returns undefined for a text that is not an Ed25519 key */
function keyOf(publicKey: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ed25519' ? key : undefined
  } catch {
    // OpenSSL says only that it cannot decode it.
    return undefined
  }
}
