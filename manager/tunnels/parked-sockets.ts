import { type Socket } from 'node:net'
import { type AgentId, AppError, because } from '#manager/contract'

/** More than an agent ever dials in advance. Further sockets are closed, so that a misbehaving agent cannot fill our memory. */
const MAX_PARKED = 256
/** After one socket is taken, a connected agent dials a new one within a round trip. */
const TAKE_TIMEOUT_MS = 5_000

export interface ParkedSockets {
  /** Gives the socket to a waiting `take`, or parks it. Bytes that arrive on a parked socket break it. */
  park(agentId: AgentId, socket: Socket): void
  /**
   * A live socket of the agent, at once or as soon as it dials one. The most recent one is used first, because it is the least likely to
   * have been dropped on the way.
   *
   * @throws AppError `agent_unreachable` after a few seconds; the signal's reason
   */
  take(agentId: AgentId, signal: AbortSignal): Promise<Socket>
  /** Drops the sockets of an agent that has disconnected, and rejects the pending `take` calls for it. */
  drop(agentId: AgentId): void
  count(agentId: AgentId): number
  [Symbol.dispose](): void
}

interface Pool {
  readonly parked: Map<Socket, () => void>
  readonly waiting: Set<{ give(socket: Socket): void; fail(error: Error): void }>
}

export function createParkedSockets({ takeTimeoutMs = TAKE_TIMEOUT_MS } = {}): ParkedSockets {
  const pools = new Map<AgentId, Pool>()

  const poolOf = (agentId: AgentId): Pool => {
    const pool = pools.get(agentId) ?? { parked: new Map(), waiting: new Set() }
    pools.set(agentId, pool)
    return pool
  }

  const forgetIfEmpty = (agentId: AgentId, { parked, waiting }: Pool) => {
    if (parked.size === 0 && waiting.size === 0) pools.delete(agentId)
  }

  const drop = (agentId: AgentId) => {
    const pool = pools.get(agentId)
    if (!pool) return
    pools.delete(agentId)
    for (const socket of pool.parked.keys()) socket.destroy()
    for (const waiter of pool.waiting) waiter.fail(unreachable())
  }

  return {
    park(agentId, socket) {
      const pool = poolOf(agentId)
      for (const waiter of pool.waiting) {
        waiter.give(socket)
        return
      }
      if (pool.parked.size >= MAX_PARKED) {
        socket.destroy()
        return
      }
      const broken = () => {
        release()
        socket.on('error', () => undefined).destroy()
        forgetIfEmpty(agentId, pool)
      }
      const release = () => {
        pool.parked.delete(socket)
        socket.off('data', broken).off('end', broken).off('error', broken).off('close', broken)
      }
      pool.parked.set(socket, release)
      // Keep reading: a socket that is not read never reports that its other end is gone.
      socket.on('data', broken).on('end', broken).on('error', broken).on('close', broken).resume()
    },

    take(agentId, signal) {
      signal.throwIfAborted()
      const pool = poolOf(agentId)
      for (const [socket, release] of [...pool.parked].reverse()) {
        release()
        if (socket.destroyed || !socket.writable) continue
        forgetIfEmpty(agentId, pool)
        return Promise.resolve(socket)
      }
      return new Promise((resolve, reject) => {
        const leave = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', abort)
          pool.waiting.delete(waiter)
          forgetIfEmpty(agentId, pool)
        }
        const fail = (error: Error) => {
          leave()
          reject(error)
        }
        const give = (socket: Socket) => {
          leave()
          resolve(socket)
        }
        const abort = () => fail(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
        const timer = setTimeout(() => fail(unreachable()), takeTimeoutMs)
        const waiter = { give, fail }
        signal.addEventListener('abort', abort, { once: true })
        pool.waiting.add(waiter)
      })
    },

    drop,
    count: agentId => pools.get(agentId)?.parked.size ?? 0,
    [Symbol.dispose]() {
      for (const agentId of [...pools.keys()]) drop(agentId)
    },
  }
}

function unreachable(): AppError {
  return new AppError('agent_unreachable', because('host_silent'))
}
