import { z } from 'zod'
import { TextUpTo, WebAddress } from '#manager/contract'

/** Header of the agent's upgrade request: fresh random text that the manager signs. */
export const AGENT_NONCE_HEADER = 'x-berth-agent-nonce'

/** The manager's answer to the agent's nonce, with the key that all managers on one database share. */
export const ManagerProof = z.object({
  /** Ed25519, SPKI, base64. */
  publicKey: TextUpTo(1_000),
  signature: TextUpTo(1_000),
})
export type ManagerProof = z.infer<typeof ManagerProof>

/** Payload that managers sign with their shared key, UTF-8. Domain-separated, so that the signature cannot be used for anything else. */
export function managerProofPayload(agentNonce: string, managerNonce: string, managerId: string): string {
  return `berth.manager.v1\n${agentNonce}\n${managerNonce}\n${managerId}`
}

/** A manager process, and where agents reach it. */
export const ManagerAddress = z.object({ id: TextUpTo(200), url: WebAddress(2_000, { protocol: /^https?$/ }) })
export type ManagerAddress = z.infer<typeof ManagerAddress>

/** The live managers: the agent keeps a control connection to each. Sent after `welcome` and whenever it changes. */
export const Managers = z.object({ type: z.literal('managers'), managers: z.array(ManagerAddress) })

/**
 * Indirect route: an agent that cannot dial a manager reaches it through another manager, which it can dial. The request is
 * `GET /agent/v1/via` with `Upgrade: berth-via`, credentials as for a data socket, and the target process. After the 101 the
 * socket is a plain connection to the target's address: everything on it, TLS included, is between the agent and the target
 * manager.
 */
export const VIA_PATH = '/agent/v1/via'
export const VIA_UPGRADE = 'berth-via'
export const VIA_TO_HEADER = 'x-berth-to'
/** Header in the upgrade request of a control connection that takes an indirect route: id of the manager process in between. */
export const VIA_HEADER = 'x-berth-via'

/** Path of the archives with the program of agents; the SHA-256 of one follows. */
export const HOST_BUNDLES_PATH = '/api/v1/host-setup/bundles/'
