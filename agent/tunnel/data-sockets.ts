import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import {
  AGENT_NONCE_HEADER,
  DATA_PATH,
  DATA_PROOF_HEADER,
  DATA_SCHEME,
  DATA_UPGRADE,
  dataProofPayload,
  type DataHeader,
} from '#agent/contract'
import { PING_INTERVAL_MS } from '#manager/contract'
import { connectPinned } from '../control/pinned-tls.ts'
import { parseHeader, readLine } from './header-reader.ts'

export interface Log {
  debug(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface DataSocketsDeps {
  readonly managerUrl: string
  /** Of the control connection this belongs to; dies with it. */
  readonly dataToken: string
  /** Kept parked at least. */
  readonly count: number
  /** Takes over a socket whose header has come. */
  readonly serve: (header: DataHeader, socket: Socket) => void
  readonly log: Log
  /** Of the manager's key, as for the control connection; without it an authority of the system vouches for the manager. */
  readonly fingerprint?: string | undefined
  /** The manager has proven itself on the control connection, and does so here. */
  readonly proven?: boolean
}

export interface DataSockets extends AsyncDisposable {
  /** Sockets that the manager has and may use now. */
  readonly parked: number
}

/** A burst of connections finds at most this many sockets waiting. */
const MAX_PARKED = 64
const SHRINK_AFTER_MS = 30_000
/** Below two seconds: tunnels must work again that soon after the network is back. */
const LONGEST_BACKOFF_MS = 1_500

/**
 * Keeps sockets parked at the manager, so that a tunnel costs no round trip to the agent: dials one for each that is
 * taken, and more when a burst took them all. Ending it closes the parked ones; tunnels that run go on.
 *
 * Threat model: we dial, nothing listens here. What comes on a socket is as trusted as the manager that proved itself on
 * the control connection; it names a kernel and an app, never an address. Where that one was proven, so is each of these,
 * and the token is not sent: whoever takes the port of a manager that has just crashed gets nothing.
 */
export function createDataSockets(deps: DataSocketsDeps): DataSockets {
  const url = new URL(deps.managerUrl)
  const idle = new Set<Socket>()
  const ready = new Set<Socket>()
  let wanted = deps.count
  let failures = 0
  let ended = false
  let retry: NodeJS.Timeout | undefined
  const shrink = setInterval(() => {
    wanted = Math.max(deps.count, Math.floor(wanted / 2))
  }, SHRINK_AFTER_MS).unref()

  function fill() {
    if (ended || retry) return
    while (idle.size < wanted) open()
  }

  function open() {
    const { socket, connected } = dial(url, deps.fingerprint)
    idle.add(socket)
    // Between its owners a socket must not take the process down with it.
    socket.on('error', error => deps.log.debug({ error: error.message }, 'a data socket broke'))
    const { authorization, expected } = introduction(deps)
    // Not before: the token is for the holder of the manager's key.
    socket.once(connected, () => {
      if (socket.destroyed) return
      socket.write(
        `GET ${url.pathname.replace(/\/$/, '')}${DATA_PATH} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: Upgrade\r\n` +
          `Upgrade: ${DATA_UPGRADE}\r\n${authorization}\r\n\r\n`,
      )
    })
    readUpgrade(socket, expected, accepted => {
      if (!accepted) {
        failed(socket)
        return
      }
      failures = 0
      ready.add(socket)
      readLine(socket, line => {
        const header = line === undefined ? undefined : parseHeader(line)
        if (header === undefined) {
          if (line !== undefined) deps.log.warn({}, 'the manager sent a header that this agent does not know')
          failed(socket)
          return
        }
        if (ready.size === 1) wanted = Math.min(wanted * 2, MAX_PARKED)
        idle.delete(socket)
        ready.delete(socket)
        fill()
        deps.serve(header, socket)
      })
    })
  }

  function failed(socket: Socket) {
    socket.destroy()
    ready.delete(socket)
    if (!idle.delete(socket) || ended || retry) return
    const delay = Math.random() * Math.min(LONGEST_BACKOFF_MS, 50 * 2 ** failures++)
    retry = setTimeout(() => {
      retry = undefined
      fill()
    }, delay)
  }

  fill()
  return {
    get parked() {
      return ready.size
    },
    [Symbol.asyncDispose]() {
      ended = true
      clearInterval(shrink)
      clearTimeout(retry)
      for (const socket of idle) socket.destroy()
      return Promise.resolve()
    },
  }
}

function dial(url: URL, fingerprint: string | undefined): { socket: Socket; connected: 'connect' | 'secureConnect' } {
  const secure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const where = { host, port: Number(url.port || (secure ? 443 : 80)), allowHalfOpen: true }
  const socket = secure ? connectPinned(where, fingerprint) : connect(where)
  socket.setNoDelay(true).setKeepAlive(true, PING_INTERVAL_MS)
  return { socket, connected: secure ? 'secureConnect' : 'connect' }
}

/** Header lines that say who we are, and what the manager answers if it is it. */
function introduction({ dataToken, proven }: DataSocketsDeps): { authorization: string; expected: Buffer | undefined } {
  if (!proven) return { authorization: `Authorization: Bearer ${dataToken}`, expected: undefined }
  const nonce = randomBytes(16).toString('base64url')
  const id = createHash('sha256').update(dataToken).digest('base64url')
  const mac = (side: 'agent' | 'manager') =>
    createHmac('sha256', dataToken).update(dataProofPayload(side, nonce)).digest()
  const proof = mac('agent').toString('base64url')
  return {
    authorization: `Authorization: ${DATA_SCHEME} ${id}.${proof}\r\n${AGENT_NONCE_HEADER}: ${nonce}`,
    expected: mac('manager'),
  }
}

const PROOF_LINE = new RegExp(`^${DATA_PROOF_HEADER}:\\s*(\\S+)`, 'i')

function equal(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The answer to the upgrade, line by line: a parked socket's header may come in the same packet as the 101. */
function readUpgrade(socket: Socket, expected: Buffer | undefined, done: (accepted: boolean) => void): void {
  let status: string | undefined
  let isProven = expected === undefined
  const next = () =>
    readLine(socket, line => {
      if (line === undefined) {
        done(false)
        return
      }
      status ??= line
      const proof = PROOF_LINE.exec(line)?.[1]
      if (expected && proof !== undefined) isProven = equal(Buffer.from(proof, 'base64url'), expected)
      if (line !== '' && line !== '\r') {
        next()
        return
      }
      done(isProven && /^HTTP\/1\.1 101 /.test(status))
    })
  next()
}
