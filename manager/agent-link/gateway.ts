import { createHmac, timingSafeEqual } from 'node:crypto'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import { AppError, type AgentId, type KernelId, type ManagerId } from '#manager/contract'
import {
  AGENT_LOST_MS,
  AGENT_NONCE_HEADER,
  CONTROL_PATH,
  CONTROL_PROTOCOL,
  dataProofPayload,
  type FromAgent,
  type FromManager,
  type ManagerAddress,
  VIA_HEADER,
} from '#agent/contract'
import { type Audit } from '../audit/recorder.ts'
import { type Upgrades } from './upgrades.ts'
import { createSparing, type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { hashToken } from '../users/secrets.ts'
import { watchArrivals } from './arrivals.ts'
import { AgentConnection, type AgentRequests } from './connection.ts'
import { acceptAgent } from './handshake.ts'
import { createInbox, type Inbox } from './inbox.ts'
import { type ManagerKey } from './manager-key.ts'
import { isLongReport, readLongReport, readMessage } from './read-message.ts'
import { createAgentReads } from './reads.ts'
import { createStrangers, type Stranger, type StrangersOptions } from './strangers.ts'

/**
 * Receives the events of control connections. Calls for one agent are made one after the other, each awaited, except
 * `came` and `gone`.
 */
export interface AgentListener {
  /** The agent has a connection now, dialled directly or through the named manager process. Called at once. */
  came(agentId: AgentId, via: string | null): void
  connected(agentId: AgentId): Promise<void>
  /**
   * @param leftOut problems with the message, for an admin
   * @param arrivedAt on the clock of `performance.now()`: it may be handled much later
   * @returns kernels for which something could not be written; the next report repeats it
   */
  message(
    agentId: AgentId,
    message: Notice,
    arrivedAt: number,
    leftOut: readonly string[],
  ): Promise<readonly KernelId[]>
  /** The kernels in a report that are known to run although the engine did not answer. */
  started(agentId: AgentId, report: Extract<Notice, { type: 'report' }>): readonly KernelId[]
  /** The agent's last connection is gone. Called at once: by the time of `disconnected` there may be a new one. */
  gone(agentId: AgentId): void
  disconnected(agentId: AgentId): Promise<void>
  /** The agent has been gone, or silent, for so long that it counts as lost. */
  lost(agentId: AgentId): Promise<void>
}
export type Notice = Exclude<FromAgent, { type: 'join' | 'prove' | 'reply' }>

export interface AgentGateway extends AgentRequests, AsyncDisposable {
  isConnected(agentId: AgentId): boolean
  /**
   * Resolves when the agent has a connection here. If it is connected to another manager only, it is called to this one
   * and awaited.
   * @throws AppError `agent_unreachable`; the signal's reason
   */
  reach(agentId: AgentId, signal?: AbortSignal): Promise<void>
  /** The agent whose control connection this data socket belongs to. */
  verifyDataToken(token: string): AgentId | undefined
  /**
   * As `verifyDataToken`, but the peer proves the token without sending it (see `DATA_SCHEME`).
   * @returns the agent, and the proof for that agent that we know the token too
   */
  verifyDataProof(claim: { id: string; proof: string; nonce: string }): { agentId: AgentId; answer: string } | undefined
  lastSeen(agentId: AgentId): Date | undefined
  /** Closes the connection of an agent, for example a revoked one. */
  disconnect(agentId: AgentId, why: string): void
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
  readonly listener: AgentListener
  readonly audit?: Audit | undefined
  readonly log: Log
  readonly parkedSockets?: number
  readonly lostMs?: number
  readonly strangers?: StrangersOptions
}

/** Limit of a message; a report of a host with thousands of images and containers stays well below it. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
const HANDSHAKE_TIMEOUT_MS = 10_000
const PARKED_SOCKETS = 4
/** A live agent answers a ping at once; an agent whose host has just died must not keep its successor out for long. */
const ALIVE_WITHIN_MS = 2_000
const NONCE_LENGTH = 128
/** An agent that learns of a manager connects to it within a second, even by the longest route. */
const SEEK_MS = 3_000

interface Waiting {
  readonly bytes: number
  readonly report?: Extract<Notice, { type: 'report' }> | undefined
  run(): Promise<void>
}

interface Entry {
  connection: AgentConnection | undefined
  seenAt: Date
  /** Notices are handled in the order of their arrival. */
  readonly inbox: Inbox<Waiting>
  lostTimer: NodeJS.Timeout | undefined
  /** Resolved when the agent connects, or counts as lost. */
  decided: PromiseWithResolvers<undefined> | undefined
}

/**
 * Server end of the agents' control connections. Listens on the manager's own port at CONTROL_PATH; `handshake.ts`
 * decides who may connect. An agent has one connection. A newer connection of the same process replaces the older one,
 * which may be dead without our knowing. A connection of another process with the same key is refused while the older
 * one answers. A peer that is not accepted cannot reach anything behind this file.
 */
export function startAgentGateway(deps: AgentGatewayDeps): AgentGateway {
  const { store, managerId, processId, key, managers, upgrades, listener, log } = deps
  const lostMs = deps.lostMs ?? AGENT_LOST_MS
  const reads = createAgentReads(store.db)
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
      const held = agents.get(agentId)?.connection
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
  const strangers = createStrangers(deps.strangers)
  const sparing = createSparing()
  const agents = new Map<AgentId, Entry>()
  const arrivals = watchArrivals()
  const dataTokens = new Map<string, { readonly agentId: AgentId; readonly token: string }>()
  let closed = false

  const entryOf = (agentId: AgentId): Entry => {
    const entry = agents.get(agentId) ?? {
      connection: undefined,
      seenAt: new Date(store.now()),
      inbox: createInbox<Waiting>(),
      lostTimer: undefined,
      decided: undefined,
    }
    agents.set(agentId, entry)
    return entry
  }
  const enqueue = (agentId: AgentId, what: string, work: () => Promise<void>) => {
    entryOf(agentId).inbox.push({ run: () => run(agentId, what, work), bytes: 0 })
  }
  async function run(agentId: AgentId, what: string, work: () => Promise<void>): Promise<void> {
    if (closed) return
    await work().catch((error: unknown) => log.error({ err: error, agentId }, `${what} of an agent failed`))
  }
  const armLost = (agentId: AgentId) => {
    const entry = entryOf(agentId)
    clearTimeout(entry.lostTimer)
    entry.lostTimer = setTimeout(() => {
      entry.lostTimer = undefined
      // The agent is silent because reading from it is paused: it sends more than we process.
      if (entry.connection?.isHeldUp) {
        armLost(agentId)
        return
      }
      settle(entry)
      entry.connection?.end('No sign of life.')
      enqueue(agentId, 'loss', () => listener.lost(agentId))
    }, lostMs)
  }

  async function serve(
    socket: WebSocket,
    { agentNonce, via, stranger }: { agentNonce: string | undefined; via: string | null; stranger: Stranger },
  ): Promise<void> {
    socket.on('error', error => sparing(leftOut => log.warn({ err: error, leftOut }, 'control connection failed')))
    const early: RawData[] = []
    const keep = (data: RawData) => early.push(data)
    const accepted = await acceptAgent(socket, {
      ...handshake,
      agentNonce,
      onAnswered: () => {
        stranger.answered()
        socket.on('message', keep)
      },
    })
    stranger.accepted()
    socket.off('message', keep)
    if (socket.readyState !== socket.OPEN || closed) return
    const connection = new AgentConnection(accepted, socket)
    const { agentId } = accepted
    const entry = entryOf(agentId)
    entry.connection?.end('It connected again.')
    entry.connection = connection
    settle(entry)
    if (accepted.replaced) deps.onReplaced?.(agentId)
    dataTokens.set(hashOf(accepted.dataToken), { agentId, token: accepted.dataToken })
    listener.came(agentId, via)
    if (managers().length > 0) connection.send({ type: 'managers', managers: [...managers()] })
    log.info({ agentId, name: accepted.agentName, via }, 'agent connected')
    const seen = () => {
      entry.seenAt = new Date(store.now())
      if (entry.connection === connection) armLost(agentId)
    }
    const onMessage = (data: RawData) => {
      seen()
      receive(connection, data)
      connection.holdUpFor(arrivals.time(), byteLength(data), () => entry.inbox.isFull)
    }
    socket.on('message', onMessage)
    socket.on('close', () => {
      connection.end('The connection was lost.')
      dataTokens.delete(hashOf(accepted.dataToken))
      if (entry.connection !== connection) return
      entry.connection = undefined
      log.info({ agentId }, 'agent disconnected')
      if (closed) return
      listener.gone(agentId)
      enqueue(agentId, 'disconnection', () => listener.disconnected(agentId))
    })
    seen()
    enqueue(agentId, 'connection', async () => {
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
    connection.end('It was revoked.')
  }

  function receive(connection: AgentConnection, data: RawData): void {
    const { agentId } = connection
    try {
      const text = textOf(data)
      if (isLongReport(text)) {
        takeLong(connection, text)
        return
      }
      const { message, leftOut } = readMessage(text)
      if (message.type === 'reply') connection.onReply(message)
      else if (message.type === 'join' || message.type === 'prove') throw new AppError('bad_request')
      else take(connection, message, { leftOut, bytes: text.length })
    } catch (error) {
      ignore(agentId, error)
    }
  }

  function ignore(agentId: AgentId, error: unknown): void {
    sparing(leftOut => log.warn({ err: error, agentId, leftOut }, 'control message ignored'))
  }

  function take(
    connection: AgentConnection,
    notice: Notice,
    { leftOut, bytes }: { leftOut: readonly string[]; bytes: number },
  ): void {
    const { agentId } = connection
    const { inbox } = entryOf(agentId)
    const arrivedAt = arrivals.time()
    let message = notice
    if (message.type === 'report') {
      // A report is complete, so only the newest of the queued ones counts. Images are reported only when they change:
      // keep those of the dropped report.
      const images = inbox.take(waiting => waiting.report !== undefined)?.report?.images
      if (images && !message.images) message = { ...message, images }
    }
    const report = message.type === 'report' ? message : undefined
    const handle = () => handleNotice(connection, message, { arrivedAt, leftOut })
    inbox.push({ bytes, report, run: () => run(agentId, message.type, handle) })
  }

  /**
   * Queues a report with long lists. It is parsed only at its turn, and then in slices. It carries a full list of
   * images, so no later report replaces it.
   */
  function takeLong(connection: AgentConnection, text: string): void {
    const { agentId } = connection
    const arrivedAt = arrivals.time()
    const handle = async () => {
      if (isOver(connection)) return
      const read = await readLongReport(text).catch((error: unknown) => ignore(agentId, error))
      if (read) await handleNotice(connection, read.message, { arrivedAt, leftOut: read.leftOut })
    }
    entryOf(agentId).inbox.push({ bytes: text.length, run: () => run(agentId, 'report', handle) })
  }

  /** Whether the connection has been replaced or closed: its notices are stale. */
  function isOver(connection: AgentConnection): boolean {
    return entryOf(connection.agentId).connection !== connection || !connection.open
  }

  async function handleNotice(
    connection: AgentConnection,
    message: Notice,
    { arrivedAt, leftOut }: { arrivedAt: number; leftOut: readonly string[] },
  ): Promise<void> {
    const { agentId } = connection
    if (isOver(connection)) return
    const except = [...(await listener.message(agentId, message, arrivedAt, leftOut))]
    if (message.type !== 'report') return
    const { sequence } = message
    const started = [...listener.started(agentId, message)]
    const told = { ...(except.length > 0 ? { except } : {}), ...(started.length > 0 ? { started } : {}) }
    connection.send({ type: 'taken_up', sequence, ...told })
  }

  /** @throws AppError `agent_unreachable`; the signal's reason */
  async function connectionTo(agentId: AgentId, signal?: AbortSignal, patient = false): Promise<AgentConnection> {
    const now = () => {
      const connection = agents.get(agentId)?.connection
      return connection?.open ? connection : undefined
    }
    const found = now()
    if (found) return found
    const isElsewhere = !closed && ((await deps.seek?.(agentId)) ?? false)
    signal?.throwIfAborted()
    const isAwaited = patient && agents.get(agentId)?.lostTimer !== undefined
    if (!closed && !now() && (isAwaited || isElsewhere))
      await decision(agentId, isAwaited ? undefined : SEEK_MS, signal)
    signal?.throwIfAborted()
    const connection = now()
    if (connection) return connection
    const why = isElsewhere
      ? 'Its agent is connected to another manager, but not to this one: an administrator sees in "berth admin manager ls" why.'
      : 'Its agent is not connected.'
    throw new AppError('agent_unreachable', { agentId, why })
  }

  /** Resolves when the agent connects, counts as lost, or the time is over. */
  async function decision(agentId: AgentId, withinMs: number | undefined, signal?: AbortSignal): Promise<void> {
    const entry = entryOf(agentId)
    entry.decided ??= Promise.withResolvers<undefined>()
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const stop = () => resolve(undefined)
    const timer = withinMs === undefined ? undefined : setTimeout(stop, withinMs)
    signal?.addEventListener('abort', stop, { once: true })
    await Promise.race([entry.decided.promise, promise])
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }

  upgrades.on(
    url => url.pathname === CONTROL_PATH,
    (request, socket, head) => {
      if (closed) throw new AppError('unavailable')
      const stranger = strangers.admit(socket)
      server.handleUpgrade(request, socket, head, webSocket => {
        const nonce = request.headers[AGENT_NONCE_HEADER]
        const agentNonce = typeof nonce === 'string' && nonce.length <= NONCE_LENGTH ? nonce : undefined
        const via = managers().find(({ id }) => id === request.headers[VIA_HEADER])?.id ?? null
        serve(webSocket, { agentNonce, via, stranger }).catch((error: unknown) => {
          sparing(leftOut => log.warn({ err: error, leftOut }, 'agent refused'))
        })
      })
    },
  )
  return {
    isConnected: agentId => agents.get(agentId)?.connection?.open ?? false,
    lastSeen: agentId => agents.get(agentId)?.seenAt,
    async reach(agentId, signal) {
      await connectionTo(agentId, signal)
    },
    async request(agentId, name, input, options) {
      const connection = await connectionTo(agentId, options.signal, options.patient)
      return connection.request(name, input, options)
    },
    // Look up by hash, so that the lookup time reveals nothing about the tokens.
    verifyDataToken: token => dataTokens.get(hashOf(token))?.agentId,
    verifyDataProof({ id, proof, nonce }) {
      const known = dataTokens.get(Buffer.from(id, 'base64url').toString('hex'))
      if (!known || nonce.length > NONCE_LENGTH) return undefined
      const mac = (side: 'agent' | 'manager') =>
        createHmac('sha256', known.token).update(dataProofPayload(side, nonce)).digest()
      const [given, expected] = [Buffer.from(proof, 'base64url'), mac('agent')]
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      return { agentId: known.agentId, answer: mac('manager').toString('base64url') }
    },
    disconnect(agentId, why) {
      const entry = agents.get(agentId)
      if (!entry) return
      clearTimeout(entry.lostTimer)
      entry.lostTimer = undefined
      settle(entry)
      entry.connection?.end(why)
    },
    expect: agentIds => agentIds.forEach(armLost),
    announceManagers(agentId) {
      const message: FromManager = { type: 'managers', managers: [...managers()] }
      for (const [id, { connection }] of agents) if (agentId === undefined || id === agentId) connection?.send(message)
    },
    async [Symbol.asyncDispose]() {
      closed = true
      arrivals[Symbol.dispose]()
      for (const entry of agents.values()) {
        clearTimeout(entry.lostTimer)
        settle(entry)
        entry.connection?.end('The manager stops.')
      }
      for (const client of server.clients) client.terminate()
      server.close()
      await Promise.all([...agents.values()].map(entry => entry.inbox.idle()))
    },
  }
}

function settle(entry: Entry): void {
  entry.decided?.resolve(undefined)
  entry.decided = undefined
}

function hashOf(token: string): string {
  return hashToken(token).toString('hex')
}

function byteLength(data: RawData): number {
  return Array.isArray(data) ? data.reduce((sum, { byteLength: bytes }) => sum + bytes, 0) : data.byteLength
}

function textOf(data: RawData): string {
  if (Buffer.isBuffer(data)) return data.toString('utf8')
  return Array.isArray(data) ? Buffer.concat(data).toString('utf8') : Buffer.from(data).toString('utf8')
}
