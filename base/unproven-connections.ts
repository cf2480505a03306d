import { type EndingSocket, reset } from './hang-up.ts'

/**
 * Bounds the connections of a listener on which nobody has proved who they are: above the limit, the connection that has been unproven for
 * longest is reset.
 *
 * Threat model: anybody who reaches the port can open connections and send nothing, or half a request, to use up descriptors and pairs of
 * ports. A connection counts until a request on it has proved whose it is, and again when that request is over.
 */
export interface UnprovenConnections<Connection extends EndingSocket> {
  /** Counts a new connection. */
  add(connection: Connection): void
  /** Records that a request of this connection has proved its sender. @returns the end of that request */
  prove(connection: Connection): () => void
  /** Exempts the connection for good: its peer is one of ours, such as a console or an agent. */
  keep(connection: Connection): void
}

/** @param most largest number of unproven connections */
export function createUnprovenConnections<Connection extends EndingSocket>(
  most: number,
): UnprovenConnections<Connection> {
  /** Proven requests in progress; a kept connection has one without an end. */
  const proven = new WeakMap<Connection, number>()
  /** Connections that are unproven now, oldest first. */
  const unproven = new Set<Connection>()

  function count(connection: Connection): void {
    unproven.add(connection)
    const [oldest] = unproven
    if (unproven.size <= most || !oldest) return
    unproven.delete(oldest)
    reset(oldest)
  }

  function prove(connection: Connection): () => void {
    const before = proven.get(connection)
    if (before === undefined) return () => undefined
    proven.set(connection, before + 1)
    unproven.delete(connection)
    return () => {
      const left = (proven.get(connection) ?? 0) - 1
      proven.set(connection, left)
      if (left === 0 && !connection.destroyed) count(connection)
    }
  }

  return {
    add(connection) {
      proven.set(connection, 0)
      connection.once('close', () => unproven.delete(connection))
      count(connection)
    },
    prove,
    keep(connection) {
      prove(connection)
    },
  }
}
