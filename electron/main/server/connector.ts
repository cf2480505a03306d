import { type Connection } from './connection.ts'

/** Holds the connection in use. The page loads at once; its first request waits for the connection, and gets its failure. */
export interface Connector {
  /** The current connection; opened if necessary. After a failure the next call tries again: the network, or the manager, may be back. */
  current(): Promise<Connection>
  /** The connection after an attempt that is in flight; starts none. */
  settled(): Promise<Connection | undefined>
  /** The current connection; undefined until one was opened. */
  readonly known: Connection | undefined
  /** Replaces the connection from now on; the caller takes over the previous one. */
  replace(next: Connection): void
}

/** Minimum pause between attempts: requests of a page fail together, and pages keep retrying, so they share one attempt. */
const AGAIN_AFTER_MS = 1_000

export function createConnector(
  open: () => Promise<Connection>,
  onFailure: (error: unknown) => void,
  againAfterMs = AGAIN_AFTER_MS,
): Connector {
  let known: Connection | undefined
  let attempt: Promise<Connection> | undefined
  let failedAt = -Infinity

  const begin = (): Promise<Connection> => {
    const begun = open()
    begun.then(
      connection => {
        if (attempt === begun) known = connection
        // Another connection has replaced it in the meantime: dispose it here, because no other code would.
        else Promise.resolve(connection[Symbol.asyncDispose]()).catch(onFailure)
      },
      (error: unknown) => {
        failedAt = performance.now()
        onFailure(error)
      },
    )
    return begun
  }

  return {
    current() {
      if (known) return Promise.resolve(known)
      if (attempt === undefined || performance.now() - failedAt > againAfterMs) {
        failedAt = Infinity
        attempt = begin()
      }
      return attempt
    },
    settled: async () => known ?? (await attempt?.catch(() => undefined)),
    get known() {
      return known
    },
    replace(next) {
      known = next
      attempt = undefined
    },
  }
}
