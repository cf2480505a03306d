import { type Connection } from './connection.ts'

/** The connection in use. The page is there at once; its first request waits for this, and is told of a failure. */
export interface Connector {
  /** After a failure the next one to ask tries again: the network, or the manager, may be there now. */
  current(): Promise<Connection>
  /** What there is, after an attempt that is under way; begins none. */
  settled(): Promise<Connection | undefined>
  /** What there is now. */
  readonly known: Connection | undefined
  /** From now on; the one before belongs to the caller. */
  replace(next: Connection): void
}

/** Many requests of a page fail together, and a page asks again and again: they share an attempt. */
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
        // Another has taken its place meanwhile: nobody else would end it.
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
