import { z } from 'zod'
import { AgentId, CleanLine, KernelId, ManagerId, TextUpTo } from '#manager/contract'
import { LONGEST_SAID } from './fields.ts'
import { ManagerProof, Managers } from './managers.ts'
import { BuildLog, ImagePull, KernelChanged, PullChanged, Report, StatsBatch } from './reports.ts'
import { Cancel, Reply, Request } from './requests.ts'

/**
 * The control connection: `GET /agent/v1/control` upgraded to a WebSocket (subprotocol CONTROL_PROTOCOL), one JSON message per text frame.
 * The agent dials. Handshake, then requests with replies from the manager, and notices from the agent.
 *
 *     agent   → a nonce, in a header of the upgrade request
 * manager → challenge, with its signature over the nonce, so that the agent sends nothing of value to a stranger who took the port
 *     agent   → join (first time, with a one-time token and its public key) or prove (signature over the challenge)
 *     manager → welcome, or refused and close
 *     agent   → report (full state), then again with every heartbeat
 */
export const CONTROL_PROTOCOL = 'berth.control.v1'
export const CONTROL_PATH = '/agent/v1/control'
export const HEARTBEAT_MS = 3_000
/** An agent that sends no heartbeat for this long counts as lost. */
export const AGENT_LOST_MS = 10_000

export const Challenge = z.object({
  type: z.literal('challenge'),
  nonce: TextUpTo(1_000),
  /** Id of the control plane: the same for all managers on one database. */
  managerId: ManagerId,
  /** Id of the manager process; an agent has one connection to each process. */
  processId: TextUpTo(200).optional(),
  /** Left out if the agent sent no nonce. */
  proof: ManagerProof.optional(),
})
export const Join = z.object({
  type: z.literal('join'),
  token: TextUpTo(1_000),
  agentId: AgentId,
  name: CleanLine(128),
  /** Ed25519, SPKI, base64. */
  publicKey: TextUpTo(1_000),
  signature: TextUpTo(1_000),
  instance: TextUpTo(64).optional(),
})
export const Prove = z.object({
  type: z.literal('prove'),
  agentId: AgentId,
  signature: TextUpTo(1_000),
  /** Random id of the agent process: tells a reconnection from a second process that runs with a copy of the same key. */
  instance: TextUpTo(64).optional(),
})
export const Welcome = z.object({
  type: z.literal('welcome'),
  managerId: ManagerId,
  /** Number of data sockets that the agent keeps parked. */
  parkedSockets: z.int(),
  /** Credential of the data sockets of this control connection, base64url; sent as `authorization: Bearer`. */
  dataToken: TextUpTo(1_000),
  /**
   * Ids of the containers that the manager knows to belong to the agent that this one replaces. Left out if it replaces none.
   * The key that signed the labels of these containers is lost with the data of the replaced agent.
   */
  containers: z.array(TextUpTo(200)).optional(),
})
export const Refused = z.object({ type: z.literal('refused'), code: TextUpTo(200), message: TextUpTo(LONGEST_SAID) })

/** Payload that the agent signs, UTF-8. Domain-separated, so that the signature cannot be used for anything else. */
export function controlSignaturePayload(nonce: string, managerId: string, agentId: string): string {
  return `berth.control.v1\n${nonce}\n${managerId}\n${agentId}`
}

/**
 * Acknowledges the reports of this connection up to the one with this number: their content is in the database, except for
 * the kernels in `except`, whose state could not be written.
 */
export const TakenUp = z.object({
  type: z.literal('taken_up'),
  sequence: z.int(),
  except: z.array(KernelId).optional(),
  /**
   * Kernels that run according to the manager. Set if the agent's engine did not answer, so that the report is not
   * certain about containers.
   */
  started: z.array(KernelId).optional(),
})

export const FromManager = z.discriminatedUnion('type', [
  Challenge,
  Welcome,
  Refused,
  Managers,
  TakenUp,
  Request,
  Cancel,
])
export type FromManager = z.infer<typeof FromManager>
export const FromAgent = z.discriminatedUnion('type', [
  Join,
  Prove,
  Report,
  KernelChanged,
  PullChanged,
  ImagePull,
  BuildLog,
  StatsBatch,
  Reply,
])
export type FromAgent = z.infer<typeof FromAgent>
