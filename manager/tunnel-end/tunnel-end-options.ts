import { type ApplyMask, type MaskKey, type TunnelCloseReason } from '#manager/contract/light'

/** The part of `net.Socket` (or of another Duplex) that a tunnel needs. Half-open must be allowed. */
export interface TunnelSocket {
  readonly destroyed: boolean
  readonly writable: boolean
  /** Sockets only: the end of what it reads was told already, maybe before anything listened. */
  readonly readableEnded?: boolean
  readonly writableLength: number
  write(bytes: Uint8Array): boolean
  cork(): void
  uncork(): void
  end(): unknown
  pause(): unknown
  resume(): unknown
  destroy(): unknown
  /** Sockets only: the peer sees a reset instead of an orderly end. */
  resetAndDestroy?(): unknown
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  on(event: 'end' | 'drain' | 'finish' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
}

/**
 * `tunnel`: `berth.tunnel.v1`; `foreign`: a client without subprotocol, so no text frames and no half-close;
 * `terminal`: text frames go to `onText`, the end of the stream closes.
 */
export type TunnelMode = 'tunnel' | 'foreign' | 'terminal'

export interface TunnelOutcome {
  /** Reason of the end; undefined if the wire was lost, or closed with a code that is not ours. */
  readonly reason: TunnelCloseReason | undefined
  /** True once the agent said that the service is connected. */
  readonly connected: boolean
}

export interface TunnelEndOptions {
  /** The WebSocket after its handshake, as raw bytes. */
  readonly wire: TunnelSocket
  /** The client's connection at the proxy; the service's at the agent. */
  readonly local: TunnelSocket
  /** The proxy is the client, the agent the server. */
  readonly role: 'client' | 'server'
  readonly mode?: TunnelMode
  /** A key per frame; clients only. A constant zero key costs nothing (see ADR 0004 for where that is allowed). */
  readonly newMask?: () => MaskKey
  readonly applyMask?: ApplyMask
  /** Servers: said in place of `ok` when a connection is attached. */
  readonly greeting?: string
  readonly onConnected?: () => void
  readonly onText?: (text: string) => void
  /**
   * Terminals only: called when the stream has ended. The owner may first find out why, then calls `close` with the reason.
   * If left out, the reason is `done`.
   */
  readonly onTerminalEnd?: (close: (reason: TunnelCloseReason) => void) => void
  /** Mode `tunnel` only: the wire stays after an orderly end, for a next connection (`berth.tunnel.v2`). */
  readonly lasting?: Lasting
  readonly onEnd?: (outcome: TunnelOutcome) => void
}

export interface Lasting {
  /** Clients: no connection uses the wire any more. Call `next`, or `close('done')`. */
  readonly onRest?: () => void
  /** Servers: the client asks for a next connection. Call `attach` with it, or `close` with the reason why there is none. */
  readonly onNext?: () => void
}
