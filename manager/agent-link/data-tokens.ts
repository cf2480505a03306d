import { createHmac, timingSafeEqual } from 'node:crypto'
import { type AgentId } from '#manager/contract'
import { dataProofPayload } from '#agent/contract'
import { hashToken } from '../users/secrets.ts'

/** Maximum length of a nonce that an agent sends. */
export const NONCE_LENGTH = 128

/**
 * Tokens of the control connections that are open here. An agent shows its token to prove that a data socket is its own.
 *
 * Threat model: anyone who reaches the manager's port may try tokens and proofs. A token has the strength of a key, lives as long as its
 * control connection, and is looked up by its hash, so that the duration of a lookup reveals nothing about it. A proof is compared in
 * constant time.
 */
export interface DataTokens {
  add(token: string, agentId: AgentId): void
  delete(token: string): void
  /** The agent whose control connection this data socket belongs to. */
  verifyDataToken(token: string): AgentId | undefined
  /**
   * As `verifyDataToken`, but the peer proves the token without sending it (see `DATA_SCHEME`).
   * @returns the agent, and the proof for that agent that we know the token too
   */
  verifyDataProof(claim: { id: string; proof: string; nonce: string }): { agentId: AgentId; answer: string } | undefined
}

export function createDataTokens(): DataTokens {
  const byHash = new Map<string, { readonly agentId: AgentId; readonly token: string }>()
  const hashOf = (token: string) => hashToken(token).toString('hex')
  return {
    add: (token, agentId) => void byHash.set(hashOf(token), { agentId, token }),
    delete: token => void byHash.delete(hashOf(token)),
    verifyDataToken: token => byHash.get(hashOf(token))?.agentId,
    verifyDataProof({ id, proof, nonce }) {
      const known = byHash.get(Buffer.from(id, 'base64url').toString('hex'))
      if (!known || nonce.length > NONCE_LENGTH) return undefined
      const mac = (side: 'agent' | 'manager') =>
        createHmac('sha256', known.token).update(dataProofPayload(side, nonce)).digest()
      const [given, expected] = [Buffer.from(proof, 'base64url'), mac('agent')]
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      return { agentId: known.agentId, answer: mac('manager').toString('base64url') }
    },
  }
}
