import { type IncomingMessage } from 'node:http'
import { connect, Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { createOpenCounts } from '#base/open-counts'
import { VIA_PATH, VIA_TO_HEADER, VIA_UPGRADE } from '#agent/contract'
import { type AgentId, AppError, because, PING_INTERVAL_MS } from '#manager/contract'
import { type Member } from '../cluster/cluster.ts'
import { acceptAgentUpgrade, type AgentCredentials } from './agent-upgrade.ts'
import { reset } from './splice.ts'
import { refuseUpgrade } from './websocket-upgrade.ts'

/** For a process that may open so many descriptors: each connection has two, and a sixth of the descriptors is for them. */
export const mostVias = (descriptors: number): number => Math.floor(descriptors / 12)

export interface ViaDeps {
  /** The live managers. */
  readonly members: () => readonly Member[]
  readonly agents: AgentCredentials
  /** Connections of all agents together. Of these an agent has at most as many as are still free. */
  readonly most: number
}

export interface Via extends AsyncDisposable {
  match(url: URL): boolean
  /** Answers on the socket itself, also with errors; never rejects. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
}

const CONNECT_TIMEOUT_MS = 5_000
/** Connections per agent; a tunnel is one. More than an agent ever has. */
const MAX_OF_AGENT = 4_096

/**
 * Passes connections of agents on to another manager, for agents that cannot dial that one themselves.
 *
 * Threat model: only agents with a control connection here may ask, and only for a manager that the database lists as
 * alive, at the address that it gave itself. The traffic is authenticated at both ends, and is TLS if that manager has
 * any: it is neither read nor vouched for here. To the far manager the connection comes from this computer. If both run
 * on one computer, the far manager trusts loopback for `x-forwarded-for` and `/metrics`, and so trusts the hosts of
 * agents with these too. Connections are bounded for each agent and for all together, so that a misbehaving agent leaves
 * descriptors to everybody else.
 */
export function createVia({ members, agents, most }: ViaDeps): Via {
  const open = new Map<Socket, Socket>()
  const counts = createOpenCounts()

  function count(agentId: AgentId, socket: Socket): void {
    const leave = counts.take(agentId, Math.min(MAX_OF_AGENT, most - counts.size))
    if (!leave) throw new AppError('unavailable', because('agent_connections'))
    socket.once('close', leave)
  }

  async function pass(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { agentId, accept } = acceptAgentUpgrade(request, { head, protocol: VIA_UPGRADE, agents })
    const to = members().find(({ id }) => id === request.headers[VIA_TO_HEADER])
    if (!to) throw new AppError('not_found', because('manager_gone'))
    count(agentId, socket)
    const far = await dial(to.url)
    if (socket.destroyed) {
      far.destroy()
      return
    }
    accept(socket)
    open.set(socket, far)
    socket.once('close', () => open.delete(socket))
    flow(socket, far)
    flow(far, socket)
  }

  return {
    match: ({ pathname }) => pathname === VIA_PATH,
    async handle(request, socket, head) {
      try {
        if (!(socket instanceof Socket)) throw new AppError('bad_request')
        socket.setTimeout(0)
        socket.setNoDelay(true)
        socket.setKeepAlive(true, PING_INTERVAL_MS)
        await pass(request, socket, head)
      } catch (error) {
        refuseUpgrade(socket, error)
      }
    },
    [Symbol.asyncDispose]() {
      for (const pair of open) for (const socket of pair) reset(socket)
      return Promise.resolve()
    },
  }
}

function dial(address: string): Promise<Socket> {
  const { hostname, port, protocol } = new URL(address)
  const host = hostname.replace(/^\[|\]$/g, '')
  const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: PING_INTERVAL_MS }
  const socket = connect({
    host,
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
    allowHalfOpen: true,
    ...keepAlive,
  })
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const fail = (error?: Error) => {
    socket.destroy()
    reject(new AppError('unavailable', because('address_silent', { address }), { cause: error }))
  }
  const timer = setTimeout(fail, CONNECT_TIMEOUT_MS)
  // Keep this listener: nothing else listens before the connection is passed on.
  socket.on('error', fail)
  socket.once('connect', () => resolve(socket))
  return promise.finally(() => clearTimeout(timer))
}

/** Pipes one direction. Half-open is allowed both ways; a break on one side breaks the other. */
function flow(from: Socket, to: Socket): void {
  from.pipe(to)
  from.on('error', () => reset(to))
  from.on('close', () => {
    if (!from.readableEnded) reset(to)
  })
}
