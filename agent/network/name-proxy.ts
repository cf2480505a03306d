import { createServer, type IncomingMessage, request, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hangUp, reset } from '#base/hang-up'
import { bodyFraming, endToEnd, mapHeaders, type RawHeaders } from '#base/raw-headers'
import { AppError, because } from '#manager/contract'
import { type Log } from '../log.ts'
import { connectTarget, requestTarget, type Target, type TargetRefusal } from './allowed-target.ts'
import { resolveName } from './resolve-name.ts'
import { parseCidr, SESSION_BITS } from './subnets.ts'

/**
 * The HTTP proxy by which sessions with an allow list reach the internet. It listens at the host's address on the bridge of each such
 * session, and knows a session by the bridge: no other session reaches that address.
 *
 * Threat model: programs of a session are hostile and try to reach anything else, to learn what the network of the host is like, or to use
 * up the agent.
 * - A name is compared with the list of the session, and only then looked up, by this process. Addresses that are not of the public
 *   internet, and those of this host, are refused, whoever's name has them; the connection goes to the addresses that were judged.
 * - A request that names an address, another port than 80 and 443, or another scheme is refused. The Host field of a forwarded request is
 *   made from its target: what the session wrote there is not read. Node's parser refuses requests with two lengths, and what follows
 *   a refused request is not read.
 * - What is encrypted is not opened. So the operator of a listed name decides what else can be reached there: a content network may serve
 *   other names at the same address, and a listed name may itself be a place for anybody's data. The list is about names, not about trust.
 * - Numbers of connections, sizes of headers, and times are limited, for each session and for all together. Bodies are passed on as
 *   fast as the slower side takes them.
 * - Answers of ours name the reason, but nothing about addresses.
 * While the agent is away, nothing listens and the session reaches nothing. A program of another user of the host could listen there then;
 * the users of a host are trusted not to help its sessions.
 */
export interface NameProxy extends AsyncDisposable {
  readonly port: number
  /** Number of open connections of all sessions. */
  readonly connections: number
  /**
   * Serves the session whose bridge has this address of the host. Call it before the first container starts, and for sessions that an
   * earlier agent left; safe to repeat.
   * @throws AppError `unavailable` if the port is taken
   */
  open(gateway: string, names: readonly string[]): Promise<void>
  /** Ends the connections of a session, too. A no-op for one that is not served. */
  close(gateway: string): Promise<void>
}

export interface NameProxyDeps {
  readonly port: number
  /** Whether the proxy may connect to the address. */
  readonly isAllowed: (address: string) => boolean
  /** Default: the name servers of the host. */
  readonly resolve?: (name: string, signal: AbortSignal) => Promise<readonly string[]>
  /** Default: a connection of TCP. A test leads it to a server of its own. */
  readonly open?: (to: { readonly host: string; readonly port: number }) => Socket
  readonly log: Pick<Log, 'warn'>
}

/** Connections of one session at a time, and of all: a browser opens six for each name, a package manager up to fifty. */
const MOST_OF_SESSION = 256
const MOST_IN_ALL = 4_096
const MOST_HEADER_BYTES = 16 * 1024
const HEADERS_WITHIN_MS = 10_000
const CONNECT_WITHIN_MS = 15_000
/** A connection over which no byte comes for so long is ended. */
const IDLE_MS = 10 * 60_000

const WORDS: Record<TargetRefusal | 'unknown' | 'private' | 'away', readonly [status: number, text: string]> = {
  malformed: [400, 'The request names no host that can be reached.'],
  address: [403, 'Addresses are not allowed in this session, only names of its allow list.'],
  name: [403, 'This name is not in the allow list of the session.'],
  port: [403, 'Only the ports 80 and 443 are allowed in this session.'],
  scheme: [403, 'Only HTTP, and HTTPS by CONNECT, are allowed in this session.'],
  private: [403, 'This name does not lead to the public internet.'],
  unknown: [502, 'This name was not found.'],
  away: [502, 'The server does not answer.'],
}
type Refusal = keyof typeof WORDS

interface Served {
  readonly server: Server
  names: readonly string[]
  readonly sockets: Set<Socket>
}

export function createNameProxy(deps: NameProxyDeps): NameProxy {
  const { port, isAllowed, resolve = resolveName, open = openTcp, log } = deps
  const dialler: Dialler = { isAllowed, resolve, open }
  const sessions = new Map<string, Promise<Served>>()
  let all = 0

  async function serve(gateway: string, names: readonly string[]): Promise<Served> {
    const sockets = new Set<Socket>()
    const served: Served = {
      names,
      sockets,
      server: createServer({
        maxHeaderSize: MOST_HEADER_BYTES,
        headersTimeout: HEADERS_WITHIN_MS,
        // A body may take as long as it needs; the idle time ends one that stands still.
        requestTimeout: 0,
        connectionsCheckingInterval: 5_000,
        insecureHTTPParser: false,
      }),
    }
    const { server } = served
    server.maxConnections = MOST_OF_SESSION
    // Without a listener, the server ends a connection after that time.
    server.setTimeout(IDLE_MS)
    server.on('connection', (socket: Socket) => {
      if (all >= MOST_IN_ALL || !isOnBridge(socket)) {
        reset(socket)
        return
      }
      all++
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => {
        all--
        sockets.delete(socket)
      })
    })
    server.on('clientError', (_error, socket: Duplex) => socket.destroy())
    server.on('request', (asked, answer) => void forward(asked, answer, served))
    server.on('connect', (asked: IncomingMessage, socket: Socket, head: Buffer) => {
      void tunnel(asked, { socket, head }, served)
    })
    await new Promise<void>((done, fail) => {
      server.once('error', fail)
      server.listen({ host: gateway, port, exclusive: true }, done)
    }).catch((error: unknown) => {
      const address = `${gateway}:${port}`
      throw new AppError('unavailable', because('proxy_port_taken', { address }), { cause: error })
    })
    server.on('error', (error: Error) => log.warn({ gateway, why: error.message }, 'the proxy of a session has failed'))
    return served
  }

  async function tunnel(
    asked: IncomingMessage,
    { socket, head }: { readonly socket: Socket; readonly head: Buffer },
    { names, sockets }: Served,
  ): Promise<void> {
    const target = connectTarget(asked.url ?? '', names)
    try {
      if (typeof target === 'string') throw new Refused(target)
      const outside = await connectTo(target, dialler)
      if (socket.destroyed) {
        outside.destroy()
        return
      }
      sockets.add(outside)
      outside.once('close', () => sockets.delete(outside))
      // The server ends no connection that it has handed over.
      for (const one of [socket, outside]) one.setTimeout(IDLE_MS, () => one.destroy())
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) outside.write(head)
      await Promise.all([pipeline(socket, outside), pipeline(outside, socket)]).catch(() => undefined)
    } catch (error) {
      const [status, text] = WORDS[refusalOf(error)]
      const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, 'content-type: text/plain', 'connection: close']
      // The connection ends here: bytes behind the request were meant for another server.
      hangUp(socket, [...head, `content-length: ${text.length + 1}`, '', `${text}\n`].join('\r\n'))
    }
  }

  async function forward(asked: IncomingMessage, answer: ServerResponse, { names }: Served): Promise<void> {
    const found = requestTarget(asked.url ?? '', names)
    try {
      if (typeof found === 'string') throw new Refused(found)
      const { target, path } = found
      const outside = await connectTo(target, dialler)
      outside.setTimeout(IDLE_MS, () => outside.destroy())
      answer.once('close', () => outside.destroy())
      if (answer.destroyed) {
        outside.destroy()
        return
      }
      const host = target.port === 80 ? target.name : `${target.name}:${target.port}`
      const sent = request({
        createConnection: () => outside,
        method: asked.method,
        path,
        headers: [...passedOn(asked.rawHeaders), ...bodyFraming(asked.rawHeaders), 'Host', host, 'Connection', 'close'],
        setHost: false,
      })
      const replied = new Promise<IncomingMessage>((done, fail) => sent.once('response', done).once('error', fail))
      // A server may answer before it has the whole body. Its end ends the connection, and with it the rest of the body.
      pipeline(asked, sent).catch(() => undefined)
      const reply = await replied
      answer.writeHead(reply.statusCode ?? 502, passedOn(reply.rawHeaders))
      await pipeline(reply, answer)
    } catch (error) {
      if (answer.headersSent || answer.destroyed) answer.destroy()
      else {
        const [status, text] = WORDS[refusalOf(error)]
        answer.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(`${text}\n`)
      }
    }
  }

  return {
    port,
    get connections() {
      return all
    },
    async open(gateway, names) {
      const present = sessions.get(gateway)
      if (present) {
        const served = await present
        served.names = names
        return
      }
      const opening = serve(gateway, names)
      sessions.set(gateway, opening)
      await opening.catch((error: unknown) => {
        sessions.delete(gateway)
        throw error
      })
    },
    async close(gateway) {
      const present = sessions.get(gateway)
      sessions.delete(gateway)
      await present?.then(end, () => undefined)
    },
    async [Symbol.asyncDispose]() {
      const present = [...sessions.values()]
      sessions.clear()
      await Promise.all(present.map(one => one.then(end, () => undefined)))
    },
  }
}

type Dialler = Required<Pick<NameProxyDeps, 'isAllowed' | 'resolve' | 'open'>>

/** @throws Refused */
async function connectTo({ name, port: to }: Target, { isAllowed, resolve, open }: Dialler): Promise<Socket> {
  const signal = AbortSignal.timeout(CONNECT_WITHIN_MS)
  const found = await resolve(name, signal).catch(() => [])
  const allowed = found.filter(isAllowed)
  if (allowed.length === 0) throw new Refused(found.length === 0 ? 'unknown' : 'private')
  for (const address of allowed) {
    const socket = await connected(() => open({ host: address, port: to }), signal)
    if (socket) return socket
  }
  throw new Refused('away')
}

class Refused extends Error {
  override readonly name = 'Refused'
  readonly why: Refusal
  constructor(why: Refusal) {
    super(why)
    this.why = why
  }
}

const refusalOf = (error: unknown): Refusal => (error instanceof Refused ? error.why : 'away')

async function end({ server, sockets }: Served): Promise<void> {
  const closed = new Promise<void>(done => server.close(() => done()))
  for (const socket of sockets) socket.destroy()
  server.closeAllConnections()
  await closed
}

/** Whether the peer is in the network of the bridge at whose address it was accepted. */
function isOnBridge({ remoteAddress, localAddress }: Socket): boolean {
  const blockOf = (address: string | undefined) => parseCidr(`${address ?? ''}/${SESSION_BITS}`)?.base
  const local = blockOf(localAddress)
  return local !== undefined && blockOf(remoteAddress) === local
}

const openTcp = (to: { readonly host: string; readonly port: number }) => connect({ ...to, allowHalfOpen: true })

/** @returns undefined if nothing answers */
function connected(open: () => Socket, signal: AbortSignal): Promise<Socket | undefined> {
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise(done => {
    const socket = open()
    const give = (result: Socket | undefined) => {
      signal.removeEventListener('abort', giveUp)
      if (!result) socket.destroy()
      done(result)
    }
    const giveUp = () => give(undefined)
    signal.addEventListener('abort', giveUp, { once: true })
    socket.once('connect', () => give(socket))
    socket.on('error', giveUp)
  })
}

/** Names and values in turn, without the fields about one connection and Host. */
const passedOn = (raw: RawHeaders) => mapHeaders(endToEnd(raw), (name, value) => (name === 'host' ? undefined : value))
