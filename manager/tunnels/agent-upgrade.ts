import { type IncomingMessage } from 'node:http'
import { type Socket } from 'node:net'
import { AGENT_NONCE_HEADER, DATA_PROOF_HEADER, DATA_SCHEME } from '#agent/contract'
import { type AgentId, AppError } from '#manager/contract'

export interface AgentCredentials {
  verifyDataToken(token: string): AgentId | undefined
  /** Like `verifyDataToken`, but without sending the token; also returns our proof for the agent. */
  verifyDataProof(claim: { id: string; proof: string; nonce: string }): { agentId: AgentId; answer: string } | undefined
}

/**
 * Authenticates an agent's upgrade: the agent sends, or proves, the data token of its control connection.
 *
 * @returns the agent, and a function that writes the acceptance
 * @throws AppError `not_signed_in`, `bad_request` (another protocol than the one expected)
 */
export function acceptAgentUpgrade(
  { headers }: IncomingMessage,
  { head, protocol, agents }: { head: Buffer; protocol: string; agents: AgentCredentials },
): { readonly agentId: AgentId; readonly accept: (socket: Socket) => void } {
  const { agentId, answer } = whichAgent(headers, agents)
  if (agentId === undefined) throw new AppError('not_signed_in', { why: 'The data token is not valid.' })
  if (headers.upgrade?.toLowerCase() !== protocol || head.length > 0) throw new AppError('bad_request')
  const proof = answer === undefined ? '' : `${DATA_PROOF_HEADER}: ${answer}\r\n`
  return {
    agentId,
    accept: socket =>
      void socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${protocol}\r\nConnection: Upgrade\r\n${proof}\r\n`,
      ),
  }
}

function whichAgent(
  headers: IncomingMessage['headers'],
  agents: AgentCredentials,
): { agentId?: AgentId | undefined; answer?: string } {
  const [scheme, credential = ''] = (headers.authorization ?? '').split(' ')
  if (scheme === 'Bearer') return { agentId: agents.verifyDataToken(credential) }
  const [id = '', proof = ''] = credential.split('.')
  const nonce = headers[AGENT_NONCE_HEADER]
  if (scheme !== DATA_SCHEME || typeof nonce !== 'string') return {}
  return agents.verifyDataProof({ id, proof, nonce }) ?? {}
}
