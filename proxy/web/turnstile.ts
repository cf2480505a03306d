import { networksOf, WIDER_LIMITS } from '#base/network-of'
import { fullest } from '#base/fullest'

/** A request, an answer or a socket: it closes once. */
export interface Closing {
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

export interface TurnstileOptions<C extends Closing> {
  readonly most: number
  /** Limit of one address or /64; the wider networks of IPv6 have multiples of it (`WIDER_LIMITS`). Left out: as many as fit. */
  readonly mostOfOne?: number
  /** Bytes that have crossed a connection: the one that has been idle for longest leaves then, otherwise the one that came first. */
  readonly bytesOf?: (connection: C) => number
}

/** Lets in so many requests and sockets at a time. */
export interface Turnstile<C extends Closing> {
  /**
   * Where there is no room, a connection inside is cut for it: of the network that has most, and there of the person that has most.
   *
   * @param person tells apart people at one address
   */
  enter(address: string, connection: C, person?: string): void
}

interface Guest<C> {
  readonly connection: C
  /** Narrowest first. */
  readonly networks: readonly string[]
  /** Networks, widest first, then the person. */
  readonly branch: readonly string[]
  bytes: number
  activeAt: number
}

/**
 * Threat model: strangers linger on purpose, from as many addresses as they have. So a newcomer is never refused, somebody who
 * lingers makes room: first of all those who have most places, and they take them from themselves.
 */
export function createTurnstile<C extends Closing>({
  most,
  mostOfOne = most,
  bytesOf = () => 0,
}: TurnstileOptions<C>): Turnstile<C> {
  const inside = new Set<Guest<C>>()

  function makeRoom(among: readonly Guest<C>[]): void {
    const leaving = fullest(among, ({ branch }) => branch).reduce((idlest, guest) =>
      guest.activeAt < idlest.activeAt ? guest : idlest,
    )
    inside.delete(leaving)
    leaving.connection.destroy()
  }

  return {
    enter(address, connection, person = '') {
      const now = performance.now()
      for (const guest of inside) {
        const bytes = bytesOf(guest.connection)
        if (bytes !== guest.bytes) Object.assign(guest, { bytes, activeAt: now })
      }
      const networks = networksOf(address)
      for (const [at, network] of networks.entries()) {
        const within = [...inside].filter(guest => guest.networks[at] === network)
        if (within.length >= mostOfOne * (WIDER_LIMITS[at] ?? 1)) makeRoom(within)
      }
      if (inside.size >= most) makeRoom([...inside])
      const branch = [...networks.toReversed(), person]
      const guest = { connection, networks, branch, bytes: bytesOf(connection), activeAt: now }
      inside.add(guest)
      connection.once('close', () => inside.delete(guest))
    },
  }
}
