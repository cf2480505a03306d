import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type SessionNetworks } from './session-networks.ts'

export interface NetworksAheadDeps {
  readonly networks: Pick<SessionNetworks, 'createAhead' | 'remove'>
  /** Number of empty networks to keep; 0 = none. */
  readonly size: number
  /** False while a session starts: the engine works for that session first. */
  readonly isQuiet: () => boolean
  readonly onFailure: (error: unknown) => void
  /** Rest between the last start and a creation, default 250 ms. */
  readonly restMs?: number
}

/**
 * A few empty networks that are created before a session needs one, because a bridge takes the engine about a tenth of a second.
 *
 * Isolation is that of any other session: a network is handed out once, to one kernel, and is removed when that kernel ends. The
 * list is kept in memory only. After a crash, `NetworkUse.sweep` finds the networks on the engine, without a kernel, and
 * removes them; they are never handed out again.
 */
export interface NetworksAhead extends AsyncDisposable {
  /** Hands out an empty network. @returns its key for `NetworkMember.network`; undefined if none is ready */
  take(managerId: string): string | undefined
  /** Whether the network is ready or in creation, and must not be swept. */
  has(key: string): boolean
  /** Call when a start has ended and when the engine has been looked at: creates the missing networks in the background. */
  refill(managerId: string): void
  /** Call when the engine went away, or another manager's sessions are served: the next sweep removes the networks. */
  forget(): void
}

const REST_MS = 250
/** An engine that does not answer must not keep the agent from stopping. */
const REMOVE_WITHIN_MS = 5_000

export function createNetworksAhead(deps: NetworksAheadDeps): NetworksAhead {
  const { networks, size, isQuiet, onFailure, restMs = REST_MS } = deps
  /** Keys of networks with their manager. */
  const ready = new Map<string, string>()
  const creating = new Set<string>()
  const stop = new AbortController()
  /** The manager whose sessions come here; undefined while the engine is away. */
  let served: string | undefined
  let filling: Promise<void> | undefined

  async function createOne(managerId: string): Promise<boolean> {
    const key = randomUUID()
    creating.add(key)
    try {
      const isCreated = await networks.createAhead(key, managerId)
      // Forgotten in the meantime: the sweep removes it.
      if (isCreated && creating.has(key)) ready.set(key, managerId)
      return isCreated
    } finally {
      creating.delete(key)
    }
  }

  async function fill(): Promise<void> {
    await delay(restMs, undefined, { signal: stop.signal })
    while (served !== undefined && ready.size < size && isQuiet() && !stop.signal.aborted) {
      if (await createOne(served)) continue
      // Addresses are short: those that wait here are for sessions, too.
      await removeAll()
      return
    }
  }

  async function removeAll(): Promise<void> {
    const all = [...ready]
    ready.clear()
    await Promise.all(all.map(([key, managerId]) => networks.remove(key, managerId, () => false)))
  }

  return {
    take(managerId) {
      for (const [key, owner] of ready) {
        if (owner !== managerId) continue
        ready.delete(key)
        return key
      }
      return undefined
    },
    has: key => ready.has(key) || creating.has(key),
    refill(managerId) {
      if (size === 0 || stop.signal.aborted) return
      served = managerId
      filling ??= fill()
        .catch((error: unknown) => {
          if (!stop.signal.aborted) onFailure(error)
        })
        .finally(() => (filling = undefined))
    },
    forget() {
      served = undefined
      ready.clear()
      creating.clear()
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      const removal = Promise.resolve(filling).then(removeAll).catch(onFailure)
      await Promise.race([removal, delay(REMOVE_WITHIN_MS, undefined, { ref: false })])
    },
  }
}
