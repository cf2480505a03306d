import type { Socket } from 'node:net'
import type { SessionId } from '#manager/contract'
import { AppError, because, LASTING_TUNNEL_PROTOCOL, PING_INTERVAL_MS, TUNNEL_PROTOCOL } from '#manager/contract/light'
import { connectDirectly } from '../network/connect-directly.ts'
import { environmentNetwork } from '../network/environment-network.ts'
import type { Network } from '../network/network.ts'
import { shakeHands } from './handshake.ts'

export interface DialOptions extends Omit<WireOptions, 'path' | 'protocols'> {
  readonly sessionId: SessionId
  readonly app: string
  /**
   * Whether the wire may serve further connections (`kept-wires.ts`). An agent of an older version closes it after the first.
   */
  readonly lasting?: boolean
}

export interface WireOptions {
  /** `http://127.0.0.1:8090` or `https://…`; a path is kept as a prefix. */
  readonly managerUrl: string
  /** Path with its query: `/stream/…`. */
  readonly path: string
  /** The grant or the sign-in; never part of a URL. */
  readonly headers: Readonly<Record<string, string>>
  /** Subprotocols to offer, the preferred one first. */
  readonly protocols: readonly string[]
  /** Aborts the attempt when the client has gone. */
  readonly signal?: AbortSignal | undefined
  /** Default: the network that the environment names (HTTPS_PROXY). */
  readonly network?: Pick<Network, 'detour'> | undefined
  readonly timeoutMs?: number
}

/** Time limit of a dial; longer than the manager waits for a data socket of the agent. */
const DIAL_TIMEOUT_MS = 15_000

/**
 * Opens a tunnel to an app of a session. Whether the app accepted is known later, from the first frame.
 *
 * @throws AppError with the manager's code (`grant_invalid`, `session_not_running`, `agent_unreachable`, …), and as `dialWire`
 */
export async function dialTunnel({ sessionId, app, lasting = false, ...wire }: DialOptions): Promise<Socket> {
  // Half a surrogate pair has no URL encoding. No app has such a name; the manager rejects it.
  const name = encodeURIComponent(app.toWellFormed())
  const protocols = lasting ? [LASTING_TUNNEL_PROTOCOL, TUNNEL_PROTOCOL] : [TUNNEL_PROTOCOL]
  return await dialWire({ ...wire, path: `/stream/session/${sessionId}/tcpproxy?app=${name}`, protocols })
}

/**
 * Opens a WebSocket to the manager. Resolves when the manager has answered 101: the socket is paused, with all bytes after
 * the answer still in it, ready for `pipeTunnel` or a `TunnelStream`.
 *
 * HTTP is written by hand on a bare socket: `http.request` costs more than the rest of a short tunnel.
 *
 * @throws AppError with the manager's code; `unavailable` if there is no manager; the signal's reason
 */
export async function dialWire(options: WireOptions): Promise<Socket> {
  const { managerUrl, path, protocols, headers, signal, timeoutMs = DIAL_TIMEOUT_MS } = options
  signal?.throwIfAborted()
  const url = new URL(managerUrl)
  const network = options.network ?? (await environmentNetwork())
  const socket = (await network?.detour(url, signal)) ?? (await connectDirectly(url))
  socket.setNoDelay(true).setKeepAlive(true, PING_INTERVAL_MS)
  const abort = () => socket.destroy(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
  if (signal?.aborted) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  const timer = setTimeout(
    () => socket.destroy(new AppError('unavailable', because('manager_silent_for', { seconds: timeoutMs / 1_000 }))),
    timeoutMs,
  )
  try {
    // Written before the connection is up: the socket sends it as soon as it is connected.
    await shakeHands(socket, { host: url.host, path: pathOn(url, path), headers, protocols })
    return socket
  } catch (error) {
    socket.on('error', () => undefined).destroy()
    signal?.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Path of a request; the address of a manager may have one as a prefix. */
const pathOn = (url: URL, path: string) => `${url.pathname.replace(/\/$/, '')}${path}`
