import { type IncomingMessage } from 'node:http'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { type AgentId, AppError, because, type Because, type ManagerId } from '#manager/contract'
import {
  AGENT_LOST_MS,
  AGENT_NONCE_HEADER,
  CONTROL_PATH,
  CONTROL_PROTOCOL,
  type ManagerAddress,
  VIA_HEADER,
} from '#agent/contract'
import { type Audit } from '../audit/recorder.ts'
import { createSparing, type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { AgentConnection, type AgentRequests } from './connection.ts'
import { createConnections } from './connections.ts'
import { createDataTokens, type DataTokens, NONCE_LENGTH } from './data-tokens.ts'
import { acceptAgent } from './handshake.ts'
import { type AgentListener } from './listener.ts'
import { type ManagerKey } from './manager-key.ts'
import { createNotices } from './notices.ts'
import { createAgentReads } from './reads.ts'
import { createUnauthenticatedPeers, type PeerLimits, type UnauthenticatedPeer } from './unauthenticated-peers.ts'
import { type Upgrades } from './upgrades.ts'

export interface AgentGateway
  extends AgentRequests, Pick<DataTokens, 'verifyDataToken' | 'verifyDataProof'>, AsyncDisposable {
  isConnected(agentId: AgentId): boolean
  /**
   * Resolves when the agent has a connection here. If it is connected only to another manager, it is asked to connect here and awaited.
   * @throws AppError `agent_unreachable`; the signal's reason
   */
  reach(agentId: AgentId, signal?: AbortSignal): Promise<void>
  lastSeen(agentId: AgentId): Date | undefined
  /** Closes the connection of an agent, for example a revoked one. */
  disconnect(agentId: AgentId, why: Because): void
  /** Starts the timeout to `lost` for agents that the database lists as connected, after a start of the manager. */
  expect(agentIds: readonly AgentId[]): void
  /**
   * Sends the list of managers to every agent, or to one; agents connect to the managers they have no connection to.
   */
  announceManagers(agentId?: AgentId): void
}

export interface AgentGatewayDeps {
  readonly store: Store
  readonly managerId: ManagerId
  /** Id of this process. */
  readonly processId: string
  readonly key: ManagerKey
  /** All live managers; their addresses are sent to agents. */
  readonly managers: () => readonly ManagerAddress[]
  /** Looks for an agent that has no connection here. @returns false if no other manager has one either */
  readonly seek?: ((agentId: AgentId) => Promise<boolean>) | undefined
  /** Called when a new agent has replaced this one: the old agent's connections to other managers are void. */
  readonly onReplaced?: (agentId: AgentId) => void
  readonly upgrades: Upgrades
  /** The network of a sender who has proved nothing yet. */
  readonly strangerOf: (request: IncomingMessage) => string
  readonly listener: AgentListener
  readonly audit?: Audit | undefined
  readonly log: Log
  readonly parkedSockets?: number
  readonly lostMs?: number
  readonly peerLimits?: PeerLimits
}

/** Limit of a message; a report of a host with thousands of images and containers stays well below it. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
const HANDSHAKE_TIMEOUT_MS = 10_000
const PARKED_SOCKETS = 4
/** A live agent answers a ping at once; an agent whose host has just died must not keep its successor out for long. */
const ALIVE_WITHIN_MS = 2_000
/**
 * Server end of the agents' control connections. Listens on the manager's own port at CONTROL_PATH; `handshake.ts`
 * decides who may connect. An agent has one connection. A newer connection of the same process replaces the older one,
 * which may be dead without our knowing. A connection of another process with the same key is refused while the older
 * one answers. A peer that is not accepted cannot reach anything behind this file.
 */
export function startAgentGateway(deps: AgentGatewayDeps): AgentGateway {
  const { store, managerId, processId, key, managers, upgrades, listener, log } = deps
  const reads = createAgentReads(store.db)
  const sparing = createSparing()
  const peers = createUnauthenticatedPeers(deps.peerLimits)
  const dataTokens = createDataTokens()
  const connections = createConnections({
    now: store.now,
    lostMs: deps.lostMs ?? AGENT_LOST_MS,
    seek: deps.seek,
    onLost: agentId => notices.enqueue(agentId, 'loss', () => listener.lost(agentId)),
  })
  const notices = createNotices({
    listener,
    log,
    sparing,
    isOver: connection => connections.current(connection.agentId) !== connection || !connection.open,
  })
  const handshake = {
    store,
    reads,
    managerId,
    processId,
    key,
    parkedSockets: deps.parkedSockets ?? PARKED_SOCKETS,
    timeoutMs: HANDSHAKE_TIMEOUT_MS,
    audit: deps.audit,
    async isHeld(agentId: AgentId, instance: string) {
      const held = connections.current(agentId)
      if (held?.instance === undefined || held.instance === instance) return false
      return await held.isAlive(ALIVE_WITHIN_MS)
    },
  }
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    handleProtocols: protocols => (protocols.has(CONTROL_PROTOCOL) ? CONTROL_PROTOCOL : false),
  })
  let closed = false

  async function serve(
    socket: WebSocket,
    {
      via,
      peer,
      ...claims
    }: { agentNonce: string | undefined; network: string; via: string | null; peer: UnauthenticatedPeer },
  ): Promise<void> {
    socket.on('error', error => sparing(leftOut => log.warn({ err: error, leftOut }, 'control connection failed')))
    const early: RawData[] = []
    const keep = (data: RawData) => early.push(data)
    const accepted = await acceptAgent(socket, {
      ...handshake,
      ...claims,
      onAnswered: () => {
        peer.answered()
        socket.on('message', keep)
      },
    })
    peer.accepted()
    socket.off('message', keep)
    if (socket.readyState !== socket.OPEN || closed) return
    const connection = new AgentConnection(accepted, socket)
    const { agentId } = accepted
    connections.set(connection)
    if (accepted.replaced) deps.onReplaced?.(agentId)
    dataTokens.add(accepted.dataToken, agentId)
    listener.came(agentId, via)
    if (managers().length > 0) connection.send({ type: 'managers', managers: [...managers()] })
    log.info({ agentId, name: accepted.agentName, via }, 'agent connected')
    const onMessage = (data: RawData) => {
      connections.seen(connection)
      notices.receive(connection, data)
    }
    socket.on('message', onMessage)
    socket.on('close', () => {
      connection.end(because('connection_lost'))
      dataTokens.delete(accepted.dataToken)
      if (!connections.remove(connection)) return
      log.info({ agentId }, 'agent disconnected')
      if (closed) return
      listener.gone(agentId)
      notices.enqueue(agentId, 'disconnection', () => listener.disconnected(agentId))
    })
    connections.seen(connection)
    notices.enqueue(agentId, 'connection', async () => {
      await listener.connected(agentId)
      await endIfRevoked(connection)
    })
    for (const data of early) onMessage(data)
  }

  /** An agent revoked during the handshake had no connection to close yet: close it now. */
  async function endIfRevoked(connection: AgentConnection): Promise<void> {
    const agent = await reads.find(connection.agentId)
    if (agent && agent.status !== 'REVOKED') return
    log.warn({ agentId: connection.agentId }, 'agent was revoked while it connected')
    connection.end(because('agent_removed'))
  }

  upgrades.on(
    url => url.pathname === CONTROL_PATH,
    (request, socket, head) => {
      if (closed) throw new AppError('unavailable')
      const peer = peers.admit(socket)
      server.handleUpgrade(request, socket, head, webSocket => {
        const nonce = request.headers[AGENT_NONCE_HEADER]
        const agentNonce = typeof nonce === 'string' && nonce.length <= NONCE_LENGTH ? nonce : undefined
        const via = managers().find(({ id }) => id === request.headers[VIA_HEADER])?.id ?? null
        serve(webSocket, { agentNonce, network: deps.strangerOf(request), via, peer }).catch((error: unknown) => {
          sparing(leftOut => log.warn({ err: error, leftOut }, 'agent refused'))
        })
      })
    },
  )
  return {
    isConnected: agentId => connections.current(agentId)?.open ?? false,
    lastSeen: agentId => connections.lastSeen(agentId),
    async reach(agentId, signal) {
      await connections.reach(agentId, { signal })
    },
    async request(agentId, name, input, options) {
      const connection = await connections.reach(agentId, options)
      return connection.request(name, input, options)
    },
    verifyDataToken: token => dataTokens.verifyDataToken(token),
    verifyDataProof: claim => dataTokens.verifyDataProof(claim),
    disconnect: (agentId, why) => connections.disconnect(agentId, why),
    expect: agentIds => agentIds.forEach(agentId => connections.expect(agentId)),
    announceManagers(agentId) {
      for (const connection of connections.all()) {
        if (agentId !== undefined && connection.agentId !== agentId) continue
        connection.send({ type: 'managers', managers: [...managers()] })
      }
    },
    async [Symbol.asyncDispose]() {
      closed = true
      notices.close()
      connections.close()
      for (const client of server.clients) client.terminate()
      server.close()
      await notices.idle()
    },
  }
}
