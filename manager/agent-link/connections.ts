import { type AgentId, AppError, because, type Because } from '#manager/contract'
import { type AgentConnection } from './connection.ts'

/**
 * The control connection of each agent at this manager, how long the agent has been silent, and the callers that wait for it to connect.
 */
export interface Connections {
  /** The connection of the agent; it may be closed already. */
  current(agentId: AgentId): AgentConnection | undefined
  all(): readonly AgentConnection[]
  lastSeen(agentId: AgentId): Date | undefined
  /** Registers a new connection, and ends the agent's previous one. */
  set(connection: AgentConnection): void
  /** Records a sign of life. */
  seen(connection: AgentConnection): void
  /** @returns false if another connection of the agent has replaced it */
  remove(connection: AgentConnection): boolean
  /** Starts the timeout after which the agent counts as lost. */
  expect(agentId: AgentId): void
  /**
   * Finds a connection of the agent, and waits for one while the agent is about to connect.
   * @throws AppError `agent_unreachable`; the signal's reason
   */
  reach(
    agentId: AgentId,
    options: { readonly signal?: AbortSignal | undefined; readonly patient?: boolean | undefined },
  ): Promise<AgentConnection>
  /** Ends the agent's connection, which then does not count as lost. */
  disconnect(agentId: AgentId, why: Because): void
  /** Ends all connections, and every wait for one. */
  close(): void
}

export interface ConnectionsDeps {
  /** The database's clock. */
  readonly now: () => number
  readonly lostMs: number
  /** Looks for an agent that has no connection here. @returns false if no other manager has one either */
  readonly seek: ((agentId: AgentId) => Promise<boolean>) | undefined
  /** Called when the agent has been gone, or silent, for `lostMs`. Its connection has ended by then. */
  readonly onLost: (agentId: AgentId) => void
}

/** An agent that learns of a manager connects to it within a second, even by the longest route. */
const SEEK_MS = 3_000

interface Entry {
  connection: AgentConnection | undefined
  seenAt: Date
  lostTimer: NodeJS.Timeout | undefined
  /** Resolved when the agent connects, or counts as lost. */
  decided: PromiseWithResolvers<undefined> | undefined
}

export function createConnections({ now, lostMs, seek, onLost }: ConnectionsDeps): Connections {
  const entries = new Map<AgentId, Entry>()
  let closed = false

  const entryOf = (agentId: AgentId): Entry => {
    const entry = entries.get(agentId) ?? {
      connection: undefined,
      seenAt: new Date(now()),
      lostTimer: undefined,
      decided: undefined,
    }
    entries.set(agentId, entry)
    return entry
  }

  function openOne(agentId: AgentId): AgentConnection | undefined {
    const connection = entries.get(agentId)?.connection
    return connection?.open ? connection : undefined
  }

  function expect(agentId: AgentId): void {
    const entry = entryOf(agentId)
    clearTimeout(entry.lostTimer)
    const timer = setTimeout(() => {
      // A stall of this process delays messages as well: those that have arrived are read before the agent is judged.
      setImmediate(() => {
        if (entry.lostTimer === timer) lose(agentId, entry)
      })
    }, lostMs)
    entry.lostTimer = timer
  }

  function lose(agentId: AgentId, entry: Entry): void {
    entry.lostTimer = undefined
    // The agent seems silent only because reading from it was paused: it sends more than we process.
    if (entry.connection?.wasHeldUpWithin(lostMs)) {
      expect(agentId)
      return
    }
    settle(entry)
    entry.connection?.end(because('agent_sent_nothing'))
    onLost(agentId)
  }

  /** Resolves when the agent connects, counts as lost, or the time has passed. */
  async function decision(agentId: AgentId, withinMs: number | undefined, signal?: AbortSignal): Promise<void> {
    const entry = entryOf(agentId)
    entry.decided ??= Promise.withResolvers<undefined>()
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const stop = () => resolve(undefined)
    const timer = withinMs === undefined ? undefined : setTimeout(stop, withinMs)
    signal?.addEventListener('abort', stop, { once: true })
    await Promise.race([entry.decided.promise, promise])
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }

  /** Ends the wait for the agent, and the timeout after which it counts as lost. */
  function drop(entry: Entry, why: Because): void {
    clearTimeout(entry.lostTimer)
    entry.lostTimer = undefined
    settle(entry)
    entry.connection?.end(why)
  }

  return {
    current: agentId => entries.get(agentId)?.connection,
    all: () => [...entries.values()].flatMap(({ connection }) => connection ?? []),
    lastSeen: agentId => entries.get(agentId)?.seenAt,
    set(connection) {
      const entry = entryOf(connection.agentId)
      entry.connection?.end(because('agent_newer_connection'))
      entry.connection = connection
      settle(entry)
    },
    seen(connection) {
      const entry = entryOf(connection.agentId)
      entry.seenAt = new Date(now())
      if (entry.connection === connection) expect(connection.agentId)
    },
    remove(connection) {
      const entry = entryOf(connection.agentId)
      if (entry.connection !== connection) return false
      entry.connection = undefined
      return true
    },
    expect,
    async reach(agentId, { signal, patient = false }) {
      const found = openOne(agentId)
      if (found) return found
      const isElsewhere = !closed && ((await seek?.(agentId)) ?? false)
      signal?.throwIfAborted()
      const isAwaited = patient && entries.get(agentId)?.lostTimer !== undefined
      if (!closed && !openOne(agentId) && (isAwaited || isElsewhere))
        await decision(agentId, isAwaited ? undefined : SEEK_MS, signal)
      signal?.throwIfAborted()
      const connection = openOne(agentId)
      if (connection) return connection
      const why = isElsewhere ? because('host_at_other_manager') : because('host_not_connected')
      throw new AppError('agent_unreachable', { agentId, ...why })
    },
    disconnect(agentId, why) {
      const entry = entries.get(agentId)
      if (entry) drop(entry, why)
    },
    close() {
      closed = true
      for (const entry of entries.values()) drop(entry, because('manager_stopping'))
    },
  }
}

function settle(entry: Entry): void {
  entry.decided?.resolve(undefined)
  entry.decided = undefined
}
