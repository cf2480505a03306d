import { createPublicKey, randomBytes, verify } from 'node:crypto'
import { type WebSocket } from 'ws'
import { AppError, type AgentId, type ManagerId, toWireError } from '#manager/contract'
import { controlSignaturePayload, type FromAgent, type FromManager } from '#agent/contract'
import { type Audit } from '../audit/recorder.ts'
import { toAuditRow } from '../store/operation/audit-row.ts'
import { insertAuditRows } from '../store/operation/audit-log.ts'
import { saveJoinedAgent, takeJoinToken } from '../store/agents/agents.ts'
import { listContainersOn } from '../store/sessions/kernels.ts'
import { onBehalfOf } from '../store/on-behalf.ts'
import { type Store } from '../store/open-store.ts'
import { holdResourceGroup } from '../store/identity/removal.ts'
import { hashToken } from '../users/secrets.ts'
import { type ManagerKey } from './manager-key.ts'
import { readMessage } from './read-message.ts'
import { type AgentReads } from './reads.ts'

export interface HandshakeDeps {
  readonly store: Store
  readonly reads: Pick<AgentReads, 'find'>
  readonly managerId: ManagerId
  /** Id of this process. */
  readonly processId: string
  readonly key: ManagerKey
  /** Nonce that the agent wants signed; older agents send none. */
  readonly agentNonce: string | undefined
  /** Network of the peer. */
  readonly network: string
  /** Number of data sockets an agent keeps parked. */
  readonly parkedSockets: number
  readonly timeoutMs: number
  /** Records refused joins; accepted joins are recorded in the agent's transaction. */
  readonly audit?: Audit | undefined
  /** Whether another process is connected as this agent and still answers. */
  readonly isHeld: (agentId: AgentId, instance: string) => Promise<boolean>
  /** Called in the same turn of the event loop in which the peer's answer arrives: from then on its messages must be kept. */
  readonly onAnswered: () => void
}

/** Grace period for a refused peer to read the reason before we close. */
const REFUSED_MS = 1_000

export interface AcceptedAgent {
  readonly agentId: AgentId
  readonly agentName: string
  readonly dataToken: string
  readonly instance: string | undefined
  /** Whether it replaced an agent of the same id. */
  readonly replaced: boolean
}

/**
 * Authenticates the dialling peer. Threat model: anyone who reaches the manager's port may open this connection. Until it is accepted, a
 * peer can cause one signature, one token or key lookup and one signature check, within a deadline; `unauthenticated-peers.ts` bounds the
 * memory it can take. Joining requires a one-time token (stored hashed) *and* the private key of the submitted public key; afterwards only
 * that key counts. To replace an agent, a peer needs a token that an admin has made for that very agent; the replaced key no longer counts.
 * The signature covers a fresh nonce and our manager id, so it can be replayed neither here nor at another manager.
 *
 * @throws AppError `join_token_invalid`, `agent_revoked`, `agent_running_elsewhere`, `bad_request`; the peer has received the error
 */
export async function acceptAgent(socket: WebSocket, deps: HandshakeDeps): Promise<AcceptedAgent> {
  const send = (message: FromManager) => socket.send(JSON.stringify(message))
  try {
    const nonce = randomBytes(32).toString('base64url')
    const answer = nextMessage(socket, deps)
    const { managerId, processId, agentNonce, key } = deps
    const proof = agentNonce === undefined ? {} : { proof: key.prove({ agentNonce, nonce, managerId }) }
    send({ type: 'challenge', nonce, managerId, processId, ...proof })
    const { containers, ...agent } = await identify(await answer, nonce, deps)
    const dataToken = randomBytes(32).toString('base64url')
    const { parkedSockets } = deps
    send({
      type: 'welcome',
      managerId,
      parkedSockets,
      dataToken,
      ...(containers ? { containers: [...containers] } : {}),
    })
    return { ...agent, dataToken, replaced: containers !== undefined }
  } catch (error) {
    const { code, message } = toWireError(error)
    if (socket.readyState === socket.OPEN) send({ type: 'refused', code, message })
    socket.close(1008)
    // The peer may not answer the close frame either.
    setTimeout(() => socket.terminate(), REFUSED_MS).unref()
    throw error
  }
}

interface Identified {
  readonly agentId: AgentId
  readonly agentName: string
  readonly instance: string | undefined
  /**
   * Containers of the replaced agent, which the new one cannot recognise as its own; undefined unless it replaces one.
   */
  readonly containers?: readonly string[]
}

async function identify(message: FromAgent, nonce: string, deps: HandshakeDeps): Promise<Identified> {
  const { reads, managerId, audit } = deps
  if (message.type === 'join') {
    return await onBehalfOf(deps.network, () => join(message, nonce, deps)).catch(async (error: unknown) => {
      const { code: result } = toWireError(error)
      await audit?.record({ action: 'agentJoin', target: `agent:${message.agentId}`, result })
      throw error
    })
  }
  if (message.type === 'prove') {
    const agent = await reads.find(message.agentId)
    if (!agent || agent.status === 'REVOKED') {
      throw new AppError('agent_revoked', {
        why: 'This manager does not know this agent, or has forgotten it. Join again with a new join string.',
      })
    }
    checkSignature(agent.public_key, message.signature, controlSignaturePayload(nonce, managerId, agent.id))
    const { instance } = message
    // Two processes with one key would take the connection from each other for ever, so the connected one keeps it.
    if (instance !== undefined && (await deps.isHeld(agent.id, instance))) {
      throw new AppError('agent_running_elsewhere', {
        why:
          `Agent ${agent.name} is already connected from another process that has a copy of its key. Stop one of the two. If this ` +
          'host is a clone of the other, remove DATA/agent here and join with a new join string.',
      })
    }
    return { agentId: agent.id, agentName: agent.name, instance }
  }
  throw new AppError('bad_request', {
    why: `The agent answered the handshake with "${message.type}", which does not belong there.`,
  })
}

type Join = Extract<FromAgent, { type: 'join' }>

async function join(
  { agentId, name, publicKey, signature, token, instance }: Join,
  nonce: string,
  deps: HandshakeDeps,
): Promise<Identified> {
  const { store, managerId } = deps
  checkSignature(publicKey, signature, controlSignaturePayload(nonce, managerId, agentId))
  return await store.transaction(async trx => {
    const taken = await takeJoinToken(trx, hashToken(token), { agentId, publicKey })
    if (!taken) {
      throw new AppError('join_token_invalid', {
        why: 'Make a new join string. If a new one is refused too, this agent has an id from another manager or an older version: remove DATA/agent and join again.',
      })
    }
    const { resourceGroup } = taken
    if (!(await holdResourceGroup(trx, resourceGroup))) {
      throw new AppError('join_token_invalid', {
        why: `The resource group "${resourceGroup}" of the join string was deleted. Make a join string for another group.`,
      })
    }
    const replaces = taken.replaces !== null
    if (!(await saveJoinedAgent(trx, { id: agentId, name, publicKey, resourceGroup }, { replaces }))) {
      throw new AppError('join_token_invalid', {
        why: 'An agent with this id has joined with another key. To replace it, make a join string with --replace.',
      })
    }
    const detail = { resourceGroup, ...(replaces ? { replaces } : {}) }
    const joined = { action: 'agentJoin', target: `agent:${agentId}`, result: 'ok', detail }
    await insertAuditRows(trx, [toAuditRow(joined)])
    return {
      agentId,
      agentName: name,
      instance,
      ...(replaces ? { containers: await listContainersOn(trx, agentId) } : {}),
    }
  })
}

function checkSignature(publicKey: string, signature: string, payload: string): void {
  if (!isSigned(publicKey, signature, payload)) {
    throw new AppError('agent_revoked', { why: 'The signature does not match the key of this agent.' })
  }
}

function isSigned(publicKey: string, signature: string, payload: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' })
    if (key.asymmetricKeyType !== 'ed25519') return false
    return verify(null, Buffer.from(payload, 'utf8'), key, Buffer.from(signature, 'base64'))
  } catch {
    // The text is not a key.
    return false
  }
}

/** @throws AppError `bad_request` if the answer is not a valid message, or none arrives in time */
async function nextMessage(socket: WebSocket, { timeoutMs, onAnswered }: HandshakeDeps): Promise<FromAgent> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const fail = (why: string) => () => reject(new AppError('bad_request', { why }))
  const onMessage = (data: Buffer) => {
    onAnswered()
    resolve(data.toString('utf8'))
  }
  const onClose = fail('The agent hung up during the handshake.')
  const timer = setTimeout(fail('The agent did not answer the challenge.'), timeoutMs)
  socket.once('message', onMessage)
  socket.once('close', onClose)
  try {
    return readMessage(await promise).message
  } finally {
    clearTimeout(timer)
    socket.off('message', onMessage)
    socket.off('close', onClose)
  }
}
