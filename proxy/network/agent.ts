import { Agent, type ClientRequestArgs, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'

type Created = (error: Error | null, socket: Duplex) => void

/** The connection pool for `http.request` and WebSockets; its connections are opened by `open`. */
export function createAgent(protocol: string, open: (url: URL) => Promise<Socket>): RequestOptions['agent'] {
  const Base = protocol === 'https:' ? HttpsAgent : Agent
  class ProxyAgent extends Base {
    override createConnection({ host, port }: ClientRequestArgs, done?: Created): undefined {
      const name = host?.includes(':') ? `[${host}]` : host
      open(new URL(`${protocol}//${name}:${port}`)).then(
        socket => {
          // Otherwise a connection that the proxy has closed would stay in the pool, and the next request on it would wait for ever.
          socket.allowHalfOpen = false
          done?.(null, socket)
        },
        // Node ignores the socket argument if there is an error.
        (error: unknown) => done?.(error as Error, undefined as never),
      )
    }
  }
  return new ProxyAgent({ keepAlive: true })
}
