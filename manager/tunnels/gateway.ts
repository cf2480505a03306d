import { type IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { DATA_PATH, DATA_UPGRADE, type DataHeader } from '#agent/contract'
import {
  type AgentId,
  AppError,
  because,
  DIRECT_HEADER,
  DIRECT_NONCE,
  forwardedPort,
  GRANT_HEADER,
  type KernelId,
  LASTING_TUNNEL_PROTOCOL,
  PING_INTERVAL_MS,
  type SessionId,
  type SessionPermission,
  type SessionStatus,
  TERMINAL_PROTOCOL,
  TUNNEL_PROTOCOL,
  type UserId,
} from '#manager/contract'
import { onBehalfOf } from '../store/on-behalf.ts'
import { type Caller, canEnter, canSee, isOfToken } from '../users/authorize.ts'
import { acceptAgentUpgrade, type AgentCredentials } from './agent-upgrade.ts'
import { type Activity, createActivity, type SessionActivity, type TunnelOwner } from './activity.ts'
import { createParkedSockets } from './parked-sockets.ts'
import { createTunnelLimiter, type TunnelLimits } from './tunnel-limiter.ts'
import { type MemberTerminal } from './record-terminals.ts'
import { relay } from './relay.ts'
import { Splice, type SpliceOptions } from './splice.ts'
import { type WatchedClient, watchClient } from './watch-client.ts'
import { parseTarget, type Target } from './target.ts'
import { acceptWebSocket, parseWebSocketUpgrade, refuseUpgrade, type WebSocketUpgrade } from './websocket-upgrade.ts'

/** Location of a session, with the fields that the gateway needs. */
export interface TunnelPlace {
  readonly agentId: AgentId | null
  readonly kernelId: KernelId | null
  readonly status: SessionStatus
  readonly apps: readonly { readonly name: string }[]
  readonly ownerId: UserId
  readonly domain: string
  readonly shares?: Readonly<Record<UserId, SessionPermission>> | null
  readonly tokenId?: string | null
}

export interface TunnelGatewayDeps {
  /** @throws AppError `session_not_found` */
  readonly locate: (sessionId: SessionId) => Promise<TunnelPlace>
  /** Usually answered from memory, as it runs for every connection. @throws AppError `grant_invalid` */
  readonly verifyGrant: (
    grant: string,
    sessionId: SessionId,
    app: string,
  ) => Promise<{ readonly loginId: string; readonly userId: UserId; readonly isPublic: boolean }>
  /** Authenticates by cookie (with a strict Origin), bearer token or signature. @throws AppError `not_signed_in`, those of signatures */
  readonly authenticateUpgrade: (request: IncomingMessage) => Promise<TunnelCaller>
  /** Whether the credential behind a tunnel (a sign-in or a keypair) is still valid, according to the database. */
  readonly isCredentialValid: (loginId: string) => Promise<boolean>
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

/** A signed-in user, with the sign-in or access key whose end also ends the tunnel. */
export type TunnelCaller = Pick<Caller, 'userId' | 'email' | 'role' | 'domain' | 'keypair' | 'scopes' | 'tokenName'> & {
  readonly loginId: string
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
  relay(image: { from: AgentId; to: AgentId; transferId: string; id: string }, signal: AbortSignal): Promise<number>
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
    const { agentId, kernelId } = placeOf(location)
    // A closed socket emits no further `close`, so it would be counted for ever.
    if (client.closed) throw new Error('the client went away')
    // The client's socket is always closed in the end.
    client.once('close', limiter.take(userId, isPublic ? 'visitors' : KINDS[target.kind], target))
    await deps.agents.reach(agentId, waiting.gone)
    return { agentId, kernelId }
  }

  /**
   * Re-checks an admitted request: its session, the right of its user, and its grant or credential. The request is not
   * authenticated again: a signature is single-use.
   */
  async function readmit(request: IncomingMessage, target: Target, { loginId, userId }: TunnelUser): Promise<void> {
    const location = await deps.locate(target.sessionId)
    placeOf(location)
    if (!canEnter({ userId }, location)) throw notAllowed()
    const grant = grantOf(request, target)
    if (grant !== undefined) await deps.verifyGrant(grant.text, target.sessionId, grant.app)
    else if (!(await deps.isCredentialValid(loginId)))
      throw new AppError('not_signed_in', because('session_just_ended'))
  }

  async function authorize(request: IncomingMessage, target: Target, location: TunnelPlace): Promise<AdmittedUser> {
    const grant = grantOf(request, target)
    if (grant !== undefined) {
      const { loginId, userId, isPublic } = await deps.verifyGrant(grant.text, target.sessionId, grant.app)
      return { loginId, userId, shared: userId !== location.ownerId, isPublic }
    }
    const caller = await deps.authenticateUpgrade(request)
    const { loginId, userId } = caller
    if (canEnter(caller, location) && isOfToken(caller, location)) {
      return { loginId, userId, shared: userId !== location.ownerId, isPublic: false, caller }
    }
    if (!canSee(caller, location)) throw new AppError('session_not_found')
    throw notAllowed()
  }

  async function open(request: IncomingMessage, client: Socket, head: Buffer, url: URL) {
    const target = parseTarget(url)
    const upgrade = parseWebSocketUpgrade(request)
    const waiting = watchClient(client, head)
    const asked = cuts
    const location = await locate(request, target)
    const admitted = await authorize(request, target, location)
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
      await deps.recordTerminal?.({ caller, sessionId: target.sessionId, name: target.name }, request)
    }
    // Tunnels were cut before this one was registered: check again.
    while (cuts !== asked) {
      asked = cuts
      await readmit(request, target, user).catch((error: unknown) => {
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

  /** Finds the session. A client without a right to it must first send credentials, whether the session exists or not. */
  async function locate(request: IncomingMessage, target: Target): Promise<TunnelPlace> {
    try {
      return await deps.locate(target.sessionId)
    } catch (error) {
      if (typeof request.headers[GRANT_HEADER] === 'string') throw new AppError('grant_invalid', {}, { cause: error })
      await deps.authenticateUpgrade(request)
      throw error
    }
  }

  return {
    match: ({ pathname }) =>
      pathname === DATA_PATH ||
      /^\/stream\/session\/[^/]+\/(tcpproxy|httpproxy|command)$/.test(pathname) ||
      /^\/api\/v1\/sessions\/[^/]+\/terminal$/.test(pathname),

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
    async relay({ from, to, transferId, id }, signal) {
      const taken: Socket[] = []
      const either = AbortSignal.any([signal, closing.signal])
      try {
        for (const agentId of [from, to]) {
          await deps.agents.reach(agentId, either)
          const socket = await parked.take(agentId, either)
          taken.push(socket.on('error', () => socket.destroy()))
        }
        const [giver, taker] = taken
        if (!giver || !taker) throw new AppError('agent_unreachable')
        const headers: Record<'giver' | 'taker', DataHeader> = {
          giver: { kind: 'give_image', id },
          taker: { kind: 'take_image', transferId },
        }
        return await relay(giver, taker, { headers, signal: either })
      } finally {
        for (const socket of taken) socket.destroy()
      }
    },
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

/** The user of a tunnel, with the credential with which it was opened. */
type TunnelUser = Pick<TunnelOwner, 'loginId' | 'userId' | 'shared'>
/** An admitted `TunnelUser`, with the caller if a sign-in or a signature was checked instead of a grant. */
type AdmittedUser = TunnelUser & { readonly isPublic: boolean; readonly caller?: TunnelCaller }
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
const PROTOCOLS: Readonly<Record<Target['kind'], readonly string[]>> = {
  app: [LASTING_TUNNEL_PROTOCOL, TUNNEL_PROTOCOL],
  terminal: [TERMINAL_PROTOCOL],
  command: [TUNNEL_PROTOCOL],
}

function headerOf(
  target: Target,
  kernelId: KernelId,
  how: Pick<Extract<DataHeader, { kind: 'app' }>, 'framed' | 'lasting' | 'direct'>,
): DataHeader {
  switch (target.kind) {
    case 'app':
      return { kind: 'app', kernelId, app: target.app, ...how }
    case 'terminal':
      return { kind: 'terminal', kernelId, name: target.name, cols: target.cols, rows: target.rows }
    case 'command':
      return { kind: 'command', kernelId, commandId: target.commandId }
  }
}

function notAllowed(): AppError {
  return new AppError('forbidden', because('only_members_connect'))
}

/** The nonce of a proxy that requests the direct path from the agent (ADR 41). */
function directOf({ headers }: IncomingMessage): { direct?: string } {
  const nonce = headers[DIRECT_HEADER]
  return typeof nonce === 'string' && DIRECT_NONCE.test(nonce) ? { direct: nonce } : {}
}

/** Whether a session has an app or port of this name. */
function offers({ apps }: TunnelPlace, name: string): boolean {
  return forwardedPort(name) !== undefined || apps.some(app => app.name === name)
}

/** @throws AppError `session_not_running` */
function placeOf({ status, agentId, kernelId }: TunnelPlace) {
  if (status !== 'RUNNING' || !agentId || !kernelId) throw new AppError('session_not_running', { status })
  return { agentId, kernelId }
}

/** The grant in the request's header; grants apply to apps only. */
function grantOf({ headers }: IncomingMessage, target: Target): { text: string; app: string } | undefined {
  const text = headers[GRANT_HEADER]
  return typeof text === 'string' && target.kind === 'app' ? { text, app: target.app } : undefined
}
