import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { type ManagerProof, managerProofPayload } from '#agent/contract'
import { type SecretBox } from '../secrets/secret-box.ts'
import { loadManagerKey } from '../secrets/sealed.ts'
import { type Db } from '../store/schema.ts'

/**
 * The key with which managers authenticate to agents. Threat model: on plain loopback anybody on the machine can take the port of a crashed
 * manager, and be dialled by its agent. So before the agent sends a token or a report, or obeys, it requires a signature over its own nonce
 * by the key whose fingerprint was in its join string. The private key is encrypted in the database, so that all managers on it share it.
 * An attacker who can reach a running manager can still relay everything to it, and read along; only TLS helps against that.
 */
export interface ManagerKey {
  /** SHA-256 of the public key (SPKI), hexadecimal; in join strings. */
  readonly fingerprint: string
  prove(challenge: { agentNonce: string; nonce: string; managerId: string }): ManagerProof
}

export async function openManagerKey(db: Db, box: SecretBox): Promise<ManagerKey> {
  const pem = await loadManagerKey(db, box, () =>
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  )
  const key = createPrivateKey(pem)
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  return {
    fingerprint: createHash('sha256').update(publicKey).digest('hex'),
    prove: ({ agentNonce, nonce, managerId }) => ({
      publicKey: publicKey.toString('base64'),
      signature: sign(null, Buffer.from(managerProofPayload(agentNonce, nonce, managerId)), key).toString('base64'),
    }),
  }
}
