import { type Log } from '../log.ts'

/** A connection that a fault ends: a socket, a response, a stream. */
interface Connection {
  destroy(): unknown
}

/**
 * Wraps the event listeners of one connection, so that a throw or a rejection ends only this connection.
 *
 * Threat model: the peers on both sides choose every byte that listeners see. A Node listener has no caller that could catch:
 * without this, one unforeseen byte ends the process, and with it the tunnels of all users. A foreseen fault is answered where
 * it happens; this handles the rest, which is logged as a fault of ours.
 */
export function containedBy(connection: Connection, log: Log) {
  const fault = (error: unknown) => {
    log.error(
      { error: error instanceof Error ? error.stack : String(error) },
      'a listener failed; its connection was cut',
    )
    connection.destroy()
  }
  return <Args extends readonly unknown[]>(listener: (...args: Args) => unknown) => {
    return (...args: Args): void => {
      try {
        const done = listener(...args)
        if (done instanceof Promise) done.catch(fault)
      } catch (error) {
        fault(error)
      }
    }
  }
}
