import { randomBytes } from 'node:crypto'
import { type SecretBox } from '../secrets/secret-box.ts'
import { findSigner, type Signer } from '../store/identity/signing.ts'
import { type Db } from '../store/schema.ts'
import { placeOfKeypair } from './keypairs.ts'
import { equalSecrets } from './secrets.ts'

/**
 * Checks a secret key that is used to sign in. Threat model: as in `signers.ts`: an unknown access key costs the same time as a wrong
 * secret, and only a caller who has the secret learns that a keypair or an account is inactive. The secret is neither stored nor logged.
 * @returns undefined if the access key is unknown or the secret wrong
 */
export type KeypairCheck = (accessKey: string, secretKey: string) => Promise<Signer | undefined>

export function createKeypairCheck({ db, box }: { db: Db; box: SecretBox }): KeypairCheck {
  const nobody = randomBytes(30).toString('base64url')
  return async (accessKey, secretKey) => {
    const signer = await findSigner(db, accessKey)
    const known = signer ? box.open(signer.keypair.sealed_secret, placeOfKeypair(accessKey)) : nobody
    return equalSecrets(known, secretKey) ? signer : undefined
  }
}
