import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type AheadOutcome, type SessionNetworks } from './session-networks.ts'

export interface NetworksAheadDeps {
  readonly networks: Pick<SessionNetworks, 'createAhead' | 'hasRoomAhead' | 'remove'>
  /** The manager whose sessions come here; undefined before the first welcome. */
  readonly manager: () => string | undefined
  /** Number of empty networks to keep; 0 = none. */
  readonly size: number
  /** False while the engine is away, and while a session starts: the engine works for that session first. */
  readonly isQuiet: () => boolean
  readonly onFailure: (error: unknown) => void
  /** Pause between the last start and a creation, default 250 ms. */
  readonly restMs?: number
}

/**
 * A few empty networks that are created before a session needs one, because a bridge takes the engine about a tenth of a second.
 *
 * Isolation is the same as for any other session: a network is given to one kernel only, and is removed when that kernel ends. The list is
 * kept in memory only. After a crash, `NetworkUse.sweep` finds the networks on the engine, without a kernel, and removes them; they are
 * never handed out again.
 */
export interface NetworksAhead extends AsyncDisposable {
  /** Hands out an empty network. @returns its key for `NetworkMember.network`; undefined if none is ready */
  take(managerId: string): string | undefined
  /** Whether the network is ready or in creation, and must not be swept. */
  has(key: string): boolean
  /**
   * Call when a start has ended and when the engine has been looked at: creates the missing networks in the background, or removes ready
   * ones if sessions need the range.
   */
  refill(): void
  /** Call when the engine went away, or sessions of another manager are served: the next refill removes the networks. */
  forget(): void
}

const REST_MS = 250
/** An engine that does not answer must not keep the agent from stopping. */
const REMOVE_WITHIN_MS = 5_000

export function createNetworksAhead(deps: NetworksAheadDeps): NetworksAhead {
  const { networks, size, manager, isQuiet, onFailure, restMs = REST_MS } = deps
  /** Keys of networks with their manager. */
  const ready = new Map<string, string>()
  /** Networks to remove, with their manager. A sweep finds only those of the present manager. */
  const forgotten = new Map<string, string>()
  const creating = new Set<string>()
  const stop = new AbortController()
  let filling: Promise<void> | undefined
  /** True if a refill was requested during another one, which may have counted before the network was taken. */
  let isWantedAgain = false

  async function createOne(managerId: string): Promise<AheadOutcome> {
    const key = randomUUID()
    creating.add(key)
    try {
      const outcome = await networks.createAhead(key, managerId, ready.size)
      if (outcome === 'created') (creating.has(key) ? ready : forgotten).set(key, managerId)
      return outcome
    } finally {
      creating.delete(key)
    }
  }

  async function fill(): Promise<void> {
    await delay(restMs, undefined, { signal: stop.signal })
    await removeForgotten()
    for (;;) {
      const managerId = manager()
      if (managerId === undefined || !isQuiet() || stop.signal.aborted) return
      const outcome = ready.size < size ? await createOne(managerId) : await checkRoom()
      if (outcome === 'created') continue
      if (outcome === 'short') await removeReady()
      return
    }
  }

  async function checkRoom(): Promise<'short' | 'enough'> {
    return (await networks.hasRoomAhead(ready.size)) ? 'enough' : 'short'
  }

  function forgetReady(): void {
    for (const [key, managerId] of ready) forgotten.set(key, managerId)
    ready.clear()
  }

  async function removeReady(): Promise<void> {
    forgetReady()
    await removeForgotten()
  }

  async function removeForgotten(): Promise<void> {
    await Promise.all(
      Array.from(forgotten, async ([key, managerId]) => {
        await networks.remove(key, managerId, () => false)
        forgotten.delete(key)
      }),
    )
  }

  function refill(): void {
    if (size === 0 || stop.signal.aborted) return
    if (filling !== undefined) {
      isWantedAgain = true
      return
    }
    filling = fill()
      .catch((error: unknown) => {
        if (!stop.signal.aborted) onFailure(error)
      })
      .finally(() => {
        filling = undefined
        if (!isWantedAgain) return
        isWantedAgain = false
        refill()
      })
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
    refill,
    forget() {
      forgetReady()
      creating.clear()
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      const removal = Promise.resolve(filling).then(removeReady).catch(onFailure)
      await Promise.race([removal, delay(REMOVE_WITHIN_MS, undefined, { ref: false })])
    },
  }
}
