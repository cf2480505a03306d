import { z } from 'zod'

/** Header of the agent's upgrade request: fresh random text that the manager signs. */
export const AGENT_NONCE_HEADER = 'x-berth-agent-nonce'

/** The manager's answer to the agent's nonce, with the key that all managers on one database share. */
export const ManagerProof = z.object({
  /** Ed25519, SPKI, base64. */
  publicKey: z.string(),
  signature: z.string(),
})
export type ManagerProof = z.infer<typeof ManagerProof>

/** What is signed with the key of the managers: domain-separated, so that it is good for nothing else. UTF-8. */
export function managerProofPayload(agentNonce: string, managerNonce: string, managerId: string): string {
  return `berth.manager.v1\n${agentNonce}\n${managerNonce}\n${managerId}`
}

/** A manager process, and where agents reach it. */
export const ManagerAddress = z.object({ id: z.string(), url: z.url({ protocol: /^https?$/ }) })
export type ManagerAddress = z.infer<typeof ManagerAddress>

/** The managers that live: the agent keeps a control connection to each. Sent after `welcome` and whenever it changes. */
export const Managers = z.object({ type: z.literal('managers'), managers: z.array(ManagerAddress) })

/**
 * A manager that an agent cannot dial is reached through one that it can: `GET /agent/v1/via` with `Upgrade: berth-via`,
 * credentials as for a data socket, and the process that is meant. After the 101 the socket is a plain connection to the
 * address of that one: what goes over it, TLS included, is between the agent and that manager.
 */
export const VIA_PATH = '/agent/v1/via'
export const VIA_UPGRADE = 'berth-via'
export const VIA_TO_HEADER = 'x-berth-to'
/** In the upgrade request of a control connection that came like this: the process in between. */
export const VIA_HEADER = 'x-berth-via'
