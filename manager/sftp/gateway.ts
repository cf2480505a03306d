import { type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { type ApplyMask, AppError, PING_INTERVAL_MS, SFTP_PATH, TUNNEL_PROTOCOL, type UserId } from '#manager/contract'
import { TICK_MS, TunnelBeats, TunnelEnd } from '#manager/tunnel-end'
import { type Audit } from '../audit/recorder.ts'
import { type FileHints } from '../files/hints.ts'
import { type FolderOpener } from '../files/open-folder.ts'
import { type FolderQuotas } from '../folders/folder-quotas.ts'
import { createSparing, type Log } from '../log.ts'
import { onBehalfOf } from '../store/on-behalf.ts'
import { type Db } from '../store/schema.ts'
import { acceptWebSocket, parseWebSocketUpgrade, refuseUpgrade } from '../tunnels/websocket-upgrade.ts'
import { credentialOf } from '../store/identity/credential.ts'
import { type Caller, tokenInLog } from '../users/authorize.ts'
import { SftpLocalEnd } from './local-end.ts'
import { createOperations, type Operations } from './operations.ts'
import { createTree } from './tree.ts'

/** XORs in place; native where bufferutil has a binary for this platform, its own JavaScript otherwise. */
const applyMask = (createRequire(import.meta.url)('bufferutil') as { unmask: ApplyMask }).unmask

/** Largest number of connections of one user. Programs open several for parallel transfers: rclone up to twelve, FileZilla up to ten. */
const MOST_PER_USER = 48
const MOST = 1_024

export interface SftpGatewayDeps {
  readonly db: Db
  readonly open: FolderOpener
  readonly quotas: Pick<FolderQuotas, 'meter' | 'require' | 'freeing'>
  readonly hints: Pick<FileHints, 'changed'>
  /** @throws AppError `not_signed_in`, those of signatures */
  readonly authenticateUpgrade: (request: IncomingMessage) => Promise<Caller>
  /** Whether a sign-in or keypair is still valid, according to the database. */
  readonly isCredentialValid: (credential: string) => Promise<boolean>
  /** Network address of the client. */
  readonly addressOf: (request: IncomingMessage) => string
  readonly audit: Audit
  readonly log: Log
}

export interface SftpGateway extends AsyncDisposable {
  match(url: URL): boolean
  /** Answers on the socket itself, also with errors; never rejects. Host and Origin have been checked. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** Cuts the connections of a sign-in or keypair that has ended. */
  closeLogin(credential: string): void
  /** Sign-ins and access keys with which the open connections were authenticated. */
  openedWith(): readonly string[]
  counts(): { readonly connections: number; readonly bytesUp: number; readonly bytesDown: number }
}

interface Open {
  readonly caller: Caller
  readonly credential: string
  readonly end: TunnelEnd
  readonly local: SftpLocalEnd
}

/**
 * Serves the folders of a user by SFTP: `GET SFTP_PATH` as a WebSocket of the tunnel protocol, whose bytes are SFTP.
 *
 * Threat model: everyone who reaches the manager can connect, and even a signed-in client may be hostile. A client proves a sign-in or
 * signs the request; the connection ends with that sign-in or keypair. Each operation checks the right to its folder (`leases.ts`) and
 * works by descriptors below the folder's top (`storage/beneath.ts`): paths are resolved as text, links are neither followed nor made. The
 * numbers of packets, handles, waiting requests and connections are limited, and a client that does not read its answers is not served
 * further. All state belongs to one connection: a broken one ends alone.
 */
export function createSftpGateway(deps: SftpGatewayDeps): SftpGateway {
  const { db, open, quotas, hints, authenticateUpgrade, isCredentialValid, addressOf, audit, log } = deps
  const sparing = createSparing()
  const beats = new TunnelBeats()
  const timer = setInterval(() => beats.tick(), TICK_MS).unref()
  const connections = new Set<Open>()
  const closing = new Set<Promise<void>>()
  const wires = new Set<Socket>()
  const gone = { bytesUp: 0, bytesDown: 0 }
  let isClosed = false
  /** Number of calls of `closeLogin`, which cannot cut a connection that is still being authenticated: that one is checked again. */
  let cuts = 0

  function requireFewConnections(userId: UserId): void {
    const own = [...connections].filter(({ caller }) => caller.userId === userId).length
    if (isClosed || connections.size >= MOST)
      throw new AppError('unavailable', {
        why: 'The server has as many SFTP connections as it can serve. Try again later.',
      })
    if (own >= MOST_PER_USER)
      throw new AppError('rate_limited', { why: `You have ${own} SFTP connections open. Close some of them.` })
  }

  async function admit(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { key, protocols } = parseWebSocketUpgrade(request)
    if (!protocols.includes(TUNNEL_PROTOCOL)) {
      throw new AppError('bad_request', { why: `The WebSocket subprotocol ${TUNNEL_PROTOCOL} is expected.` })
    }
    const before = cuts
    const caller = await authenticateUpgrade(request)
    const credential = credentialOf(caller)
    const isValid = () => onBehalfOf(caller.userId, () => isCredentialValid(credential))
    if (cuts !== before && !(await isValid())) {
      throw new AppError('not_signed_in', { why: 'The sign-in has just ended.' })
    }
    requireFewConnections(caller.userId)
    if (socket.destroyed) return
    socket.write(acceptWebSocket(key, TUNNEL_PROTOCOL))
    if (head.length > 0) socket.unshift(head)
    const address = addressOf(request)
    void tell(caller, address, { action: 'connectSftp' })
    join(socket, { caller, credential, address })
  }

  /** A separate function: objects that live as long as the connection keep its scope, and must not keep the request. */
  function join(wire: Socket, who: { caller: Caller; credential: string; address: string }): void {
    const { caller, credential, address } = who
    const operations = createOperations({
      userId: caller.userId,
      tree: createTree({ db, open, caller }),
      hints,
      quotas,
    })
    const local = new SftpLocalEnd({
      operations,
      isFlushed: () => wire.writableLength === 0,
      onBroken: error => {
        log.debug({ err: error, userId: caller.userId }, 'an SFTP connection was broken')
        end.close('protocol_error')
      },
      onUnexpected: error =>
        sparing(leftOut => log.error({ err: error, userId: caller.userId, leftOut }, 'an SFTP request failed')),
    })
    const end: TunnelEnd = new TunnelEnd({ wire, local, role: 'server', applyMask, onEnd: () => beats.delete(end) })
    wires.add(wire)
    wire.on('close', () => wires.delete(wire))
    const one: Open = { caller, credential, end, local }
    connections.add(one)
    beats.add(end)
    const closed = local.closed
      .then(() => tellChanges(caller, address, operations))
      .catch((error: unknown) => log.error({ err: error }, 'an SFTP connection was not closed in order'))
      .finally(() => {
        connections.delete(one)
        closing.delete(closed)
        gone.bytesUp += local.bytesUp
        gone.bytesDown += local.bytesDown
      })
    closing.add(closed)
  }

  async function tellChanges(caller: Caller, address: string, { changes }: Operations): Promise<void> {
    for (const [id, counts] of changes) {
      const detail = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
      await tell(caller, address, { action: 'changeFilesBySftp', target: `folder:${id}`, detail })
    }
  }

  const tell = (
    { userId, email, role, domain, keypair, ...caller }: Caller,
    address: string,
    { detail = {}, ...row }: { action: string; target?: string; detail?: Record<string, unknown> },
  ) =>
    audit.record({
      actor_id: userId,
      actor: email,
      ...tokenInLog(caller),
      // As for requests: entries about a superadmin are hidden from the admins of the domain.
      domain: role === 'superadmin' ? null : domain,
      result: 'ok',
      address,
      detail: keypair === null ? detail : { ...detail, keypair },
      ...row,
    })

  function cut(which: (one: Open) => boolean): void {
    cuts++
    for (const one of connections) if (which(one)) one.end.close('reset')
  }

  return {
    match: ({ pathname }) => pathname === SFTP_PATH,
    async handle(request, socket, head) {
      try {
        if (!(socket instanceof Socket)) throw new AppError('bad_request')
        socket.setTimeout(0)
        socket.setNoDelay(true)
        socket.setKeepAlive(true, PING_INTERVAL_MS)
        await admit(request, socket, head)
      } catch (error) {
        refuseUpgrade(socket, error)
      }
    },
    closeLogin: credential => cut(one => one.credential === credential),
    openedWith: () => [...new Set([...connections].map(({ credential }) => credential))],
    counts() {
      const sums = { connections: connections.size, ...gone }
      for (const { local } of connections) {
        sums.bytesUp += local.bytesUp
        sums.bytesDown += local.bytesDown
      }
      return sums
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      clearInterval(timer)
      cut(() => true)
      await Promise.all(closing)
      // The HTTP server waits for its sockets, and a client need not answer the close frame.
      for (const wire of wires) wire.destroySoon()
    },
  }
}
