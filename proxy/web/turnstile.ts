import { networkOf } from '#manager/contract'

/** A request or a socket: it closes once. */
export interface Closing {
  once(event: 'close', listener: () => void): unknown
}

/** Lets in so many requests and sockets at a time. */
export interface Turnstile {
  /** @returns false if there are too many, in all or of the network that the address belongs to */
  enter(address: string, connection: Closing): boolean
}

export function createTurnstile({ most, mostOfOne = most }: { most: number; mostOfOne?: number }): Turnstile {
  const within = new Map<string, number>()
  let all = 0
  const change = (network: string, by: 1 | -1) => {
    const count = (within.get(network) ?? 0) + by
    if (count > 0) within.set(network, count)
    else within.delete(network)
    all += by
  }
  return {
    enter(address, connection) {
      const network = networkOf(address)
      if (all >= most || (within.get(network) ?? 0) >= mostOfOne) return false
      change(network, 1)
      connection.once('close', () => change(network, -1))
      return true
    },
  }
}
