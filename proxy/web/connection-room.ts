import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { networksOf } from '#base/network-of'
import { hasBody } from '../http/headers.ts'
import { whenSwitched } from '../http/switched.ts'

/** Bounds the memory of connections, from their beginning to their end, or until they are tunnels. */
export interface ConnectionRoom extends Disposable {
  /** @param socket as accepted, before TLS */
  connect(socket: Socket): void
  request(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, socket: Duplex): void
}

interface Guest {
  readonly name: string
  readonly socket: Socket
  /** Networks, widest first. */
  readonly networks: readonly string[]
  /** Bytes of the heads of its requests that are not over. */
  heads: number
  /** Requests whose bodies have not arrived. */
  bodies: number
  /** Bytes that it had sent when its last request had arrived. */
  before: number
  /** Bytes that had crossed it at the last look. */
  moved: number
  movedAt: number
}

/** Cost of a connection without a head. */
const BARE_BYTES = 16 * 1024
/** A head that has been read is kept as text, in several forms. */
const READ_HEAD_FACTOR = 3
/** 4,096 connections without long heads. */
const MOST_BYTES = 64 * 1024 * 1024
const LOOK_MS = 200

/**
 * Cuts connections while all of them together cost too much memory: of the network that has most, the one that costs much and has moved
 * nothing for long. Tunnels are bounded elsewhere; a request for one is not one yet.
 *
 * Threat model: a stranger opens as many connections as they like, sends long heads without their end, or sends whole ones and does not read
 * the answers. They take the room from themselves. Ordinary heads are short, and connections in use move bytes.
 */
export function createConnectionRoom({ mostBytes = MOST_BYTES, lookMs = LOOK_MS } = {}): ConnectionRoom {
  const guests = new Map<string, Guest>()
  const timer = setInterval(look, lookMs).unref()

  function look(): void {
    const now = performance.now()
    let total = 0
    for (const guest of guests.values()) {
      const moved = guest.socket.bytesRead + guest.socket.bytesWritten
      if (moved !== guest.moved) Object.assign(guest, { moved, movedAt: now })
      total += costOf(guest)
    }
    if (total <= mostBytes) return
    const inside = new Set(guests.values())
    while (total > mostBytes && inside.size > 0) {
      const network = costliest([...inside])
      const leaving = network.reduce((worst, guest) => (weightOf(guest, now) > weightOf(worst, now) ? guest : worst))
      total -= costOf(leaving)
      inside.delete(leaving)
      guests.delete(leaving.name)
      leaving.socket.destroy()
    }
  }

  return {
    connect(socket) {
      const name = nameOf(socket)
      const networks = networksOf(socket.remoteAddress ?? '').toReversed()
      const movedAt = performance.now()
      const guest = { name, socket, networks, heads: 0, bodies: 0, before: 0, moved: 0, movedAt }
      guests.set(name, guest)
      socket.once('close', () => {
        if (guests.get(name) === guest) guests.delete(name)
      })
    },
    request(request, response) {
      const guest = guests.get(nameOf(request.socket))
      if (!guest) return
      const bytes = headBytes(request)
      guest.heads += bytes
      response.once('close', () => (guest.heads -= bytes))
      guest.before = guest.socket.bytesRead
      if (!hasBody(request.rawHeaders)) return
      guest.bodies++
      request.once('close', () => {
        guest.bodies--
        guest.before = guest.socket.bytesRead
      })
    },
    upgrade(request, socket) {
      const name = nameOf(request.socket)
      const guest = guests.get(name)
      if (!guest) return
      guest.heads += headBytes(request)
      guest.before = guest.socket.bytesRead
      whenSwitched(socket, () => guests.delete(name))
    },
    [Symbol.dispose]() {
      clearInterval(timer)
    },
  }
}

/** The same for a connection and for the TLS that is spoken on it. */
const nameOf = ({ remoteAddress = '', remotePort = 0, localPort = 0 }: Socket) =>
  `${remoteAddress} ${remotePort} ${localPort}`

const headBytes = ({ url = '', rawHeaders }: IncomingMessage) =>
  rawHeaders.reduce((sum, text) => sum + text.length, url.length)

function costOf({ socket, heads, bodies, before }: Guest): number {
  // Bodies are not kept.
  const unread = bodies > 0 ? 0 : socket.bytesRead - before
  return BARE_BYTES + READ_HEAD_FACTOR * heads + unread
}

const weightOf = (guest: Guest, now: number) => costOf(guest) * (now - guest.movedAt + LOOK_MS)

/** The connections of the network that costs most: of the widest ones first, then within it. */
function costliest(guests: readonly Guest[], level = 0): readonly Guest[] {
  const costs = new Map<string, number>()
  for (const guest of guests) {
    const name = guest.networks[level]
    if (name !== undefined) costs.set(name, (costs.get(name) ?? 0) + costOf(guest))
  }
  const [most] = [...costs].toSorted(([, a], [, b]) => b - a)
  if (!most) return guests
  return costliest(
    guests.filter(({ networks }) => networks[level] === most[0]),
    level + 1,
  )
}
