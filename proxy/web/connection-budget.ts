import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { reset } from '#base/hang-up'
import { networksOf } from '#base/network-of'
import { hasBody } from '#base/raw-headers'
import { whenSwitched } from '../http/switched.ts'

/** Bounds the memory of connections, from their beginning to their end, or until they are tunnels. */
export interface ConnectionBudget extends Disposable {
  /** @param socket as accepted, before TLS */
  connect(socket: Socket): void
  request(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, socket: Duplex): void
}

interface TrackedConnection {
  readonly name: string
  readonly socket: Socket
  /** Networks, widest first. */
  readonly networks: readonly string[]
  /** Bytes of the heads of its unfinished requests. */
  heads: number
  /** Requests whose bodies have not arrived. */
  bodies: number
  /** Bytes received when its last request had arrived. */
  before: number
  /** Bytes transferred at the last check. */
  moved: number
  movedAt: number
}

/** Cost of a connection without a head. */
const BARE_BYTES = 16 * 1024
/** A head that has been read is kept as text, in several forms. */
const READ_HEAD_FACTOR = 3
/** 4,096 connections without long heads. */
const MOST_BYTES = 64 * 1024 * 1024
const CHECK_EVERY_MS = 200

/**
 * Cuts connections while all of them together cost too much memory: in the network that costs most, the connection with the largest product
 * of cost and idle time. Tunnels are bounded elsewhere; a request for a tunnel counts as a connection until it is answered.
 *
 * Threat model: a stranger opens as many connections as they like, sends long heads without their end, or sends whole ones and does not
 * read the answers. Only the stranger's connections are cut: ordinary heads are short, and connections in use move bytes.
 */
export function createConnectionBudget({
  mostBytes = MOST_BYTES,
  checkEveryMs = CHECK_EVERY_MS,
} = {}): ConnectionBudget {
  const tracked = new Map<string, TrackedConnection>()
  const timer = setInterval(check, checkEveryMs).unref()

  function check(): void {
    const now = performance.now()
    let total = 0
    for (const one of tracked.values()) {
      const moved = one.socket.bytesRead + one.socket.bytesWritten
      if (moved !== one.moved) Object.assign(one, { moved, movedAt: now })
      total += costOf(one)
    }
    if (total <= mostBytes) return
    const inside = new Set(tracked.values())
    while (total > mostBytes && inside.size > 0) {
      const network = costliest([...inside])
      const leaving = network.reduce((worst, one) => (weightOf(one, now) > weightOf(worst, now) ? one : worst))
      total -= costOf(leaving)
      inside.delete(leaving)
      tracked.delete(leaving.name)
      reset(leaving.socket)
    }
  }

  return {
    connect(socket) {
      const name = nameOf(socket)
      const networks = networksOf(socket.remoteAddress ?? '').toReversed()
      const movedAt = performance.now()
      const one = { name, socket, networks, heads: 0, bodies: 0, before: 0, moved: 0, movedAt }
      tracked.set(name, one)
      socket.once('close', () => {
        if (tracked.get(name) === one) tracked.delete(name)
      })
    },
    request(request, response) {
      const one = tracked.get(nameOf(request.socket))
      if (!one) return
      const bytes = headBytes(request)
      one.heads += bytes
      response.once('close', () => (one.heads -= bytes))
      one.before = one.socket.bytesRead
      if (!hasBody(request.rawHeaders)) return
      one.bodies++
      request.once('close', () => {
        one.bodies--
        one.before = one.socket.bytesRead
      })
    },
    upgrade(request, socket) {
      const name = nameOf(request.socket)
      const one = tracked.get(name)
      if (!one) return
      one.heads += headBytes(request)
      one.before = one.socket.bytesRead
      whenSwitched(socket, () => tracked.delete(name))
    },
    [Symbol.dispose]() {
      clearInterval(timer)
    },
  }
}

/** Same key for a connection and for the TLS on top of it. */
const nameOf = ({ remoteAddress = '', remotePort = 0, localPort = 0 }: Socket) =>
  `${remoteAddress} ${remotePort} ${localPort}`

const headBytes = ({ url = '', rawHeaders }: IncomingMessage) =>
  rawHeaders.reduce((sum, text) => sum + text.length, url.length)

function costOf({ socket, heads, bodies, before }: TrackedConnection): number {
  // Bytes of bodies are not kept in memory.
  const unread = bodies > 0 ? 0 : socket.bytesRead - before
  return BARE_BYTES + READ_HEAD_FACTOR * heads + unread
}

const weightOf = (one: TrackedConnection, now: number) => costOf(one) * (now - one.movedAt + CHECK_EVERY_MS)

/** The connections of the network that costs most: first the widest network, then the costliest within it. */
function costliest(tracked: readonly TrackedConnection[], level = 0): readonly TrackedConnection[] {
  const costs = new Map<string, number>()
  for (const one of tracked) {
    const name = one.networks[level]
    if (name !== undefined) costs.set(name, (costs.get(name) ?? 0) + costOf(one))
  }
  const [most] = [...costs].toSorted(([, a], [, b]) => b - a)
  if (!most) return tracked
  return costliest(
    tracked.filter(({ networks }) => networks[level] === most[0]),
    level + 1,
  )
}
