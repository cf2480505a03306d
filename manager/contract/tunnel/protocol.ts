/**
 * The tunnel protocol. A tunnel is one WebSocket per TCP connection at a time, end to end between a client (local proxy, browser,
 * or a client of the original system) and the agent; the manager authenticates the upgrade and splices bytes.
 *
 *     GET /stream/session/{id}/tcpproxy?app=NAME      raw tunnel (httpproxy means the same)
 *     GET /api/v1/sessions/{id}/terminal              terminal of the session
 *
 * With the subprotocol `berth.tunnel.v1`: binary frames are bytes, the text frame `eof` ends one direction (half-close),
 * the agent's first frame is the text frame `ok`, a failure is a close frame with a code of TUNNEL_CLOSE. A client may
 * send data before `ok`. With `berth.tunnel.v2` a wire serves several connections of the client one after the other: an agent
 * that knows this says `ok next` instead of `ok`, and when both directions have ended, the client closes, or sends the text
 * frame `next`, as if the wire were new. Without the subprotocol there are no text frames: the end of the service
 * closes with 1001, a refused connection with 1013, as the original does.
 */
export const TUNNEL_PROTOCOL = 'berth.tunnel.v1'
/** Offered before `TUNNEL_PROTOCOL` by clients that can reuse a wire. */
export const LASTING_TUNNEL_PROTOCOL = 'berth.tunnel.v2'
/** Binary frames are terminal bytes; the client's text frames are JSON: `{"resize":{"cols":80,"rows":24}}`. */
export const TERMINAL_PROTOCOL = 'berth.terminal.v1'

/** Credential of a tunnel upgrade; never in a URL. */
export const GRANT_HEADER = 'x-berth-grant'
/** Proves that a request comes from our console; the manager then trusts what the console says about the client. */
export const CONSOLE_SECRET_HEADER = 'x-berth-console'
/** Second half of a browser's sign-in, sent with every request that carries its cookie. */
export const ORIGIN_SECRET_HEADER = 'x-berth-origin-secret'
/** Subprotocol that carries the value of `ORIGIN_SECRET_HEADER` for a page's WebSockets, which cannot set headers: offered, never selected. */
export const ORIGIN_SECRET_PROTOCOL = 'berth.origin-secret.'

export const FRAME_EOF = 'eof'
export const FRAME_OK = 'ok'
/** Like `ok`, from an agent that lets the wire serve another connection afterwards. */
export const FRAME_OK_NEXT = 'ok next'
export const FRAME_NEXT = 'next'

/** Largest frame either end sends; a larger one is refused with 1009. Receivers pass payload on before a frame is complete. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024
export const PING_INTERVAL_MS = 15_000

/** Close codes of `berth.tunnel.v1`, `berth.tunnel.v2` and `berth.terminal.v1`. */
export const TUNNEL_CLOSE = {
  /** Both directions have ended normally. */
  done: 1000,
  /** The service went away; for foreign clients also if the service only stopped sending. */
  service_ended: 1001,
  protocol_error: 1002,
  frame_too_large: 1009,
  /** The port in the container refused the connection. */
  refused: 1013,
  session_ended: 4001,
  kernel_not_found: 4004,
  app_not_ready: 4005,
  /** The connection of the service or of the client was reset. */
  reset: 4006,
  dial_timeout: 4008,
} as const
export type TunnelCloseReason = keyof typeof TUNNEL_CLOSE

export function tunnelCloseReason(code: number): TunnelCloseReason | undefined {
  return (Object.keys(TUNNEL_CLOSE) as TunnelCloseReason[]).find(reason => TUNNEL_CLOSE[reason] === code)
}
