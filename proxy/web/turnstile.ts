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
  /** Bytes transferred by a connection. If given, the connection that was idle for longest is cut, otherwise the oldest. */
  readonly bytesOf?: (connection: C) => number
}

/** Limits how many requests and sockets are open at a time. */
export interface Turnstile<C extends Closing> {
  /**
   * If the limit is reached, another connection is cut: one from the network with the most connections, and within it from the person with
   * the most.
   *
   * @param person distinguishes people at one address
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
 * Threat model: strangers hold connections open on purpose, from as many addresses as they have. So a new connection is never refused;
 * instead an open one is cut, of the network and person that have most. An attacker thus only displaces their own connections.
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
