import { createHash, createPublicKey, verify } from 'node:crypto'
import { type ManagerProof, managerProofPayload } from '#agent/contract'
import { AppError } from '#manager/contract'

export interface ProofCheck {
  readonly proof: ManagerProof | undefined
  readonly agentNonce: string
  readonly nonce: string
  readonly managerId: string
  /** Fingerprint of the key that the manager must have; undefined for a manager that this agent meets for the first time. */
  readonly pinned: string | undefined
}

/**
 * Checks that the peer is the manager that this agent joined. Threat model: an attacker who takes the manager's port (on
 * loopback any user of the machine can, once the manager is down) knows its id, but not its key.
 *
 * @returns the fingerprint of the proven key; undefined if the manager proves nothing and no key is pinned
 *
 * @throws AppError `forbidden`
 */
export function checkManagerProof({ proof, agentNonce, nonce, managerId, pinned }: ProofCheck): string | undefined {
  if (!proof) {
    if (pinned === undefined) return undefined
    throw new AppError('forbidden', {
      why: 'The server at the address of the manager did not prove that it is the manager.',
    })
  }
  const spki = Buffer.from(proof.publicKey, 'base64')
  const fingerprint = createHash('sha256').update(spki).digest('hex')
  if (pinned !== undefined && fingerprint !== pinned) {
    throw new AppError('forbidden', {
      why: 'The manager has another key than when this agent joined. If that is intended, join again.',
    })
  }
  if (isSigned(spki, proof.signature, managerProofPayload(agentNonce, nonce, managerId))) return fingerprint
  throw new AppError('forbidden', { why: 'The manager could not prove that it has the key it shows.' })
}

function isSigned(spki: Buffer, signature: string, payload: string): boolean {
  try {
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
    if (key.asymmetricKeyType !== 'ed25519') return false
    return verify(null, Buffer.from(payload, 'utf8'), key, Buffer.from(signature, 'base64'))
  } catch {
    // Not a valid key.
    return false
  }
}
