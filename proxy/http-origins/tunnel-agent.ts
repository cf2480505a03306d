import { Agent, type ClientRequest, type ClientRequestArgs } from 'node:http'
import { type Duplex } from 'node:stream'

const IDLE_MS = 30_000
/** False where the app announced that it will close soon; the types of Node say void. */
const keepAlive = Reflect.get(Agent.prototype, 'keepSocketAlive') as (this: Agent, socket: Duplex) => boolean

/**
 * Keeps a few tunnels to an app open between requests, so that a small request costs no new connection through manager and
 * agent. A tunnel idle for 30 seconds is closed; one that the app closed meanwhile is noticed by the request that reuses it.
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
        // The callback of Node takes an error without a socket; its type does not say so.
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
    // A tunnel keeps half-open connections. An app that has ended its side would take the next request and never answer.
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
