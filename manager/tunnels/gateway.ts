import {
  type AdmittedUser,
  createTunnelAccess,
  offers,
  placeOf,
  type TunnelAccessDeps,
  type TunnelPlace,
} from './access.ts'
import { directOf, headerOf, PROTOCOLS } from './data-header.ts'
import { type RelayedImage, relayImage } from './relay-image.ts'
import { type IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { DATA_PATH, DATA_UPGRADE } from '#agent/contract'
import {
  type AgentId,
  AppError,
  because,
  LASTING_TUNNEL_PROTOCOL,
  type KernelId,
  PING_INTERVAL_MS,
  type UserId,
  ZERO_MASK,
} from '#manager/contract'
import { onBehalfOf } from '../store/on-behalf.ts'
import { canEnter } from '../users/authorize.ts'
import { acceptAgentUpgrade, type AgentCredentials } from './agent-upgrade.ts'
import { type Activity, createActivity, type SessionActivity, type TunnelOwner } from './activity.ts'
import { type DataHeader } from '#agent/contract'
import { TunnelDuplex } from '#manager/tunnel-end'
import { createParkedSockets, type ParkedSockets } from './parked-sockets.ts'
import { createTunnelLimiter, type TunnelLimits } from './tunnel-limiter.ts'
import { type MemberTerminal } from './record-terminals.ts'
import { Splice, type SpliceOptions } from './splice.ts'
import { type WatchedClient, watchClient } from './watch-client.ts'
import { parseTarget, type Target } from './target.ts'
import { acceptWebSocket, parseWebSocketUpgrade, refuseUpgrade, type WebSocketUpgrade } from './websocket-upgrade.ts'

export interface TunnelGatewayDeps extends TunnelAccessDeps {
  readonly agents: AgentCredentials & {
    /**
     * Resolves when the agent has a control connection here, which may just be established. @throws AppError `agent_unreachable`; the
     * signal's reason
     */
    reach(agentId: AgentId, signal: AbortSignal): Promise<void>
  }
  /** Called before a terminal in a session of another user opens; the terminal waits until it resolves. Never rejects. */
  readonly recordTerminal?: (terminal: Omit<MemberTerminal, 'address'>, request: IncomingMessage) => Promise<void>
  readonly takeTimeoutMs?: number
  readonly limits?: TunnelLimits
}

/** An attached command, and where it is to run. */
export interface CommandOnAgent {
  readonly agentId: AgentId
  readonly kernelId: KernelId
  readonly commandId: string
}

export interface TunnelGateway {
  /** True for upgrades handled here: tunnels, terminals and the data sockets of agents. */
  match(url: URL): boolean
  /** Answers on the socket itself, also with errors; never rejects. Host and Origin have been checked. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** Cuts the tunnels of a session that has ended or become inaccessible. */
  closeSession(sessionId: string): void
  /** Cuts the tunnels opened with a sign-in, keypair or link that was revoked. @returns how many were open */
  closeLogin(loginId: string): number
  /** Cuts the tunnels of a user to sessions of others that are not shared for use any more. @param userId every user if left out */
  checkShared(userId?: UserId): Promise<void>
  /**
   * Drops the parked sockets of an agent whose control connection is lost. Its tunnels stay open as long as they work.
   */
  dropAgent(agentId: AgentId): void
  /**
   * Joins a data socket of one agent to one of another, for an image that the first gives to the second.
   * @returns bytes that went over, once both are closed
   * @throws AppError `agent_unreachable`; the signal's reason
   */
  relay(image: RelayedImage, signal: AbortSignal): Promise<number>
  /**
   * Opens the streams of an attached command for this manager itself, as one stream of frames. The command starts with it, and is killed if it
   * breaks.
   * @throws AppError `agent_unreachable`; the signal's reason
   */
  openCommand(at: CommandOnAgent, signal: AbortSignal): Promise<Duplex>
  /** Traffic since the manager started; zeros for a session without any. */
  activity(sessionId: string): SessionActivity
  /** The sign-ins and access keys behind the open tunnels. */
  openedWith(): readonly string[]
  /** Totals of all tunnels since the start, for metrics. */
  counts: Activity['totals']
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Connects clients to containers: authenticates the upgrade, takes a data socket that the session's agent has parked here, and joins the
 * two. The WebSocket itself is spoken by client and agent.
 *
 * Threat model: anyone who reaches the manager can ask. A client names a session and an app, never a host, a port or an
 * agent; those come from the database. It proves a grant for exactly this session and app, or is signed in and owns the
 * session, or is a member whom its owner lets use it: admins see and end the sessions of others, but do not enter them.
 * Anybody else learns nothing about a session, not even that it exists. One person, the visitors of one owner's links, and everybody together
 * have a bounded number of tunnels, those that are being opened included (`tunnel-limiter.ts`). Agents prove a token of their control connection, and
 * get only headers for their own kernels.
 */
export function createTunnelGateway(deps: TunnelGatewayDeps): TunnelGateway {
  const parked = createParkedSockets({ ...(deps.takeTimeoutMs ? { takeTimeoutMs: deps.takeTimeoutMs } : {}) })
  const activity = createActivity()
  const access = createTunnelAccess(deps)
  const limiter = createTunnelLimiter(deps.limits)
  const closing = new AbortController()
  let cuts = 0
  const cut: typeof activity.cut = which => {
    cuts++
    return activity.cut(which)
  }

  function park(request: IncomingMessage, socket: Socket, head: Buffer) {
    const { agentId, accept } = acceptAgentUpgrade(request, { head, protocol: DATA_UPGRADE, agents: deps.agents })
    accept(socket)
    parked.park(agentId, socket)
  }

  /** Counts an authorized tunnel in the limits, and checks that the agent is reachable. */
  async function admit({ userId, isPublic }: AdmittedUser, { target, location, client, waiting }: Opening) {
    if (target.kind === 'app' && !offers(location, target.app)) throw new AppError('app_not_found', { app: target.app })
    const { agentId, kernelId } = placeOf(location, target)
    // A closed socket emits no further `close`, so it would be counted for ever.
    if (client.closed) throw new Error('the client went away')
    // The client's socket is always closed in the end.
    client.once('close', limiter.take(userId, isPublic ? 'visitors' : KINDS[target.kind], target))
    await deps.agents.reach(agentId, waiting.gone)
    return { agentId, kernelId }
  }

  async function open(request: IncomingMessage, client: Socket, head: Buffer, url: URL) {
    const target = parseTarget(url)
    const upgrade = parseWebSocketUpgrade(request)
    const waiting = watchClient(client, head)
    const asked = cuts
    const location = await access.locate(request, target)
    const admitted = await access.authorize(request, target, location)
    const connect = () => openFor(admitted, request, { target, location, client, waiting, asked, ...upgrade })
    // Visitors of a link are strangers, and do not wait behind the calls of its owner, nor the owner behind theirs.
    await (admitted.isPublic ? connect() : onBehalfOf(admitted.userId, connect))
  }

  async function openFor(admitted: AdmittedUser, request: IncomingMessage, opening: Opening): Promise<void> {
    const { target, client, waiting, key, protocols } = opening
    let { asked } = opening
    const { agentId, kernelId } = await admit(admitted, opening)
    const { caller, loginId, userId, shared } = admitted
    const user = { loginId, userId, shared }

    const ours = PROTOCOLS[target.kind]
    const protocol = ours.find(name => protocols.includes(name))
    const lasting = protocol === LASTING_TUNNEL_PROTOCOL
    if (target.kind === 'command' && protocol === undefined)
      throw new AppError('bad_request', because('command_protocol'))
    const header = headerOf(target, kernelId, {
      framed: protocol !== undefined,
      ...(lasting ? { lasting } : {}),
      ...directOf(request),
    })
    const agent = await parked.take(agentId, waiting.gone)
    if (target.kind === 'terminal' && user.shared && caller) {
      await deps.recordTerminal?.({ caller, sessionId: target.sessionId, ...nameOf(target) }, request)
    }
    // Tunnels were cut before this one was registered: check again.
    while (cuts !== asked) {
      asked = cuts
      await access.readmit(request, target, user).catch((error: unknown) => {
        agent.destroy()
        throw error
      })
    }
    // The client left during the check. The tunnel would never hear of a socket that is closed already.
    if (waiting.gone.aborted) {
      agent.destroy()
      throw waiting.gone.reason
    }
    client.write(acceptWebSocket(key, protocol))
    const owner = { sessionId: target.sessionId, ...user, terminal: target.kind === 'terminal' }
    join({ client, agent, header: Buffer.from(`${JSON.stringify(header)}\n`), head: waiting.stop() }, agentId, owner)
  }

  /** A separate function, because everything that lives as long as a tunnel retains its whole scope, including the request. */
  function join(
    ends: Pick<SpliceOptions, 'client' | 'agent' | 'header' | 'head'>,
    agentId: AgentId,
    owner: TunnelOwner,
  ) {
    const splice: Splice = new Splice({
      ...ends,
      next: () => parked.take(agentId, AbortSignal.timeout(2 * PING_INTERVAL_MS)),
      onEnd: () => activity.remove(splice),
    })
    activity.add(splice, owner)
  }

  return {
    match: ({ pathname }) => pathname === DATA_PATH || TUNNEL_PATHS.some(path => path.test(pathname)),

    async handle(request, socket, head) {
      try {
        if (!(socket instanceof Socket)) throw new AppError('bad_request')
        socket.setTimeout(0)
        socket.setNoDelay(true)
        socket.setKeepAlive(true, PING_INTERVAL_MS)
        const url = new URL(request.url ?? '/', 'http://manager')
        if (url.pathname === DATA_PATH) park(request, socket, head)
        else await open(request, socket, head, url)
      } catch (error) {
        refuseUpgrade(socket, error)
      }
    },

    closeSession: sessionId => cut(tunnel => tunnel.sessionId === sessionId),
    closeLogin: loginId => cut(tunnel => tunnel.loginId === loginId),
    async checkShared(userId) {
      // Tunnels that are being opened are checked again.
      cuts++
      const open = activity.shared().filter(tunnel => userId === undefined || tunnel.userId === userId)
      await Promise.all(
        open.map(async tunnel => {
          // A tunnel is also cut if its session cannot be looked up.
          const holds = await deps.locate(tunnel.sessionId).then(
            location => canEnter(tunnel, location),
            () => false,
          )
          if (!holds) cut(one => one === tunnel)
        }),
      )
    },
    dropAgent: agentId => parked.drop(agentId),
    relay: (image, signal) =>
      relayImage(
        image,
        { reach: (agentId, gone) => deps.agents.reach(agentId, gone), parked },
        AbortSignal.any([signal, closing.signal]),
      ),
    openCommand: (address, signal) =>
      openCommand(address, { agents: deps.agents, parked, signal: AbortSignal.any([signal, closing.signal]) }),
    activity: activity.of,
    openedWith: activity.openedWith,
    counts: () => activity.totals(),
    async [Symbol.asyncDispose]() {
      closing.abort()
      parked[Symbol.dispose]()
      cut(() => true)
      await activity.empty()
    },
  }
}

const TUNNEL_PATHS = [
  /^\/stream\/session\/[^/]+\/(tcpproxy|httpproxy|command)$/,
  /^\/api\/v1\/sessions\/[^/]+\/terminal$/,
]

interface CommandDeps {
  readonly agents: Pick<TunnelGatewayDeps['agents'], 'reach'>
  readonly parked: Pick<ParkedSockets, 'take'>
  /** Ends the stream, also when it is open. */
  readonly signal: AbortSignal
}

/** Opens the stream of a command in a session. @throws AppError `agent_unreachable` */
async function openCommand(
  { agentId, kernelId, commandId }: Parameters<TunnelGateway['openCommand']>[0],
  { agents, parked, signal }: CommandDeps,
): ReturnType<TunnelGateway['openCommand']> {
  await agents.reach(agentId, signal)
  const wire = await parked.take(agentId, signal)
  const header: DataHeader = { kind: 'command', kernelId, commandId }
  wire.on('error', () => wire.destroy()).write(`${JSON.stringify(header)}\n`)
  // No page chooses when or to whom these bytes go, so the mask stays zero (ADR 4).
  const stream = new TunnelDuplex({ wire, newMask: () => ZERO_MASK })
  const cutNow = () => stream.destroy(new AppError('agent_unreachable'))
  signal.addEventListener('abort', cutNow, { once: true })
  stream.once('close', () => signal.removeEventListener('abort', cutNow))
  return stream
}

/** An upgrade that was authorized. */
interface Opening extends WebSocketUpgrade {
  readonly target: Target
  readonly location: TunnelPlace
  readonly client: Socket
  readonly waiting: WatchedClient
  /** Cuts before it was authorized. */
  readonly asked: number
}

const KINDS = { app: 'tunnels', terminal: 'terminals', command: 'terminals' } as const

const nameOf = ({ name, kernel }: Extract<Target, { kind: 'terminal' }>) => ({
  name,
  ...(kernel === undefined ? {} : { kernel }),
})
