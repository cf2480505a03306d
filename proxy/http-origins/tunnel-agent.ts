import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http'
import { type Duplex } from 'node:stream'

const IDLE_MS = 30_000
/** Returns false if the app announced that it will close soon; Node's types say void. */
const keepAlive = Reflect.get(Agent.prototype, 'keepSocketAlive') as (this: Agent, socket: Duplex) => boolean

/**
 * Keeps a few tunnels to an app open between requests, so that a small request costs no new connection through manager and
 * agent. A tunnel idle for 30 seconds is closed. If the app has closed a tunnel in the meantime, the request that reuses it
 * notices.
 */
export class TunnelAgent extends Agent {
  readonly #connect: () => Promise<Duplex>
  readonly #idle = new WeakMap<Duplex, { readonly timer: NodeJS.Timeout; readonly close: () => void }>()

  constructor(connect: () => Promise<Duplex>) {
    super({ keepAlive: true, maxSockets: 256, maxFreeSockets: 32, scheduling: 'lifo' })
    this.#connect = connect
  }

  override createConnection(
    _options: ClientRequestArgs,
    done: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#connect().then(
      socket => {
        done(null, socket)
      },
      (error: unknown) => {
        // Node's callback accepts an error without a socket; its type does not say so.
        ;(done as (error: Error) => void)(error instanceof Error ? error : new Error(String(error)))
      },
    )
    return undefined
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const isKept = !socket.readableEnded && keepAlive.call(this, socket)
    if (!isKept) return false
    const close = () => socket.destroy()
    const timer = setTimeout(close, IDLE_MS)
    timer.unref()
    // A tunnel keeps half-open connections: an app that has ended its side would take the next request and never answer.
    socket.once('end', close)
    this.#idle.set(socket, { timer, close })
    return true
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    super.reuseSocket(socket, request)
    const idle = this.#idle.get(socket)
    clearTimeout(idle?.timer)
    if (idle) socket.off('end', idle.close)
  }
}
