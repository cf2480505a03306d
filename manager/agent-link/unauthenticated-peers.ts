import { type Duplex } from 'node:stream'
import { AppError } from '#manager/contract'

export interface PeerLimits {
  /** Largest number of unauthenticated peers. This number times `bytes` bounds the memory that strangers can use. */
  readonly count: number
  /** Maximum bytes per peer. An agent sends only some hundred bytes before it is accepted. */
  readonly bytes: number
}

export const PEER_LIMITS: PeerLimits = { count: 1024, bytes: 16 * 1024 }

export interface UnauthenticatedPeer {
  /** Call when the peer has answered: from then on it waits for us, not we for it. */
  answered(): void
  /** Call when the peer is one of our agents: the limits end. */
  accepted(): void
}

export interface UnauthenticatedPeers {
  /**
   * Counts a peer until it is accepted or gone. At the limit, the peer that has kept us waiting longest is dropped, so that nobody can keep
   * our agents out by opening connections and saying nothing.
   *
   * @throws AppError `unavailable` if all peers have answered and wait for us
   */
  admit(socket: Duplex): UnauthenticatedPeer
  readonly count: number
}

/**
 * Limits the unauthenticated peers on the agents' control path.
 *
 * Threat model: anyone who reaches the manager's port may open such connections, as many as they like, and send what
 * they like. Bytes are counted on the wire, before WebSocket frames are assembled: neither a large message nor many
 * small ones, nor one that never ends, takes more memory than this.
 */
export function createUnauthenticatedPeers({ count, bytes }: PeerLimits = PEER_LIMITS): UnauthenticatedPeers {
  const all = new Set<Duplex>()
  /** Oldest first. */
  const silent = new Set<Duplex>()

  return {
    get count() {
      return all.size
    },

    admit(socket) {
      if (all.size >= count) {
        const [longest] = silent
        if (!longest)
          throw new AppError('unavailable', {
            why: 'Too many agents are connecting at once. The agent tries again by itself.',
          })
        forget(longest)
        longest.destroy()
      }
      let left = bytes
      const onData = (chunk: Buffer) => {
        left -= chunk.length
        if (left < 0) socket.destroy()
      }
      const onClose = () => forget(socket)
      all.add(socket)
      silent.add(socket)
      socket.on('data', onData).once('close', onClose)
      return {
        answered: () => void silent.delete(socket),
        accepted() {
          socket.off('data', onData).off('close', onClose)
          forget(socket)
        },
      }
    },
  }

  function forget(socket: Duplex): void {
    all.delete(socket)
    silent.delete(socket)
  }
}
