import { type ApplyMask, type MaskKey, type TunnelCloseReason } from '#manager/contract/light'

/** The part of `net.Socket` (or of another Duplex) that a tunnel needs. Half-open must be allowed. */
export interface TunnelSocket {
  readonly destroyed: boolean
  readonly writable: boolean
  /** Sockets only: reading has ended, perhaps before anything listened. */
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
 * `tunnel`: `berth.tunnel.v1`; `foreign`: a client without subprotocol, so without text frames and half-close; `terminal`: text frames go
 * to `onText`, and the end of the stream closes the tunnel.
 */
export type TunnelMode = 'tunnel' | 'foreign' | 'terminal'

export interface TunnelOutcome {
  /** Reason of the end; undefined if the wire was lost, or closed with a code that is not ours. */
  readonly reason: TunnelCloseReason | undefined
  /** True once the agent has reported that the service is connected. */
  readonly connected: boolean
}

export interface TunnelEndOptions {
  /** The WebSocket after its handshake, as raw bytes. */
  readonly wire: TunnelSocket
  /** The client's connection at the proxy, the service's connection at the agent. */
  readonly local: TunnelSocket
  /** The proxy is the client, the agent the server. */
  readonly role: 'client' | 'server'
  readonly mode?: TunnelMode
  /** Creates the key of each frame; clients only. A constant zero key costs nothing (see ADR 0004 for where that is allowed). */
  readonly newMask?: () => MaskKey
  readonly applyMask?: ApplyMask
  /** Servers: sent instead of `ok` when a connection is attached. */
  readonly greeting?: string
  readonly onConnected?: () => void
  readonly onText?: (text: string) => void
  /**
   * Terminals only: called when the stream has ended. The owner may first find out the reason, and then calls `close` with it. If left out,
   * the reason is `done`.
   */
  readonly onTerminalEnd?: (close: (reason: TunnelCloseReason) => void) => void
  /** Mode `tunnel` only: after an orderly end the wire is kept for another connection (`berth.tunnel.v2`). */
  readonly lasting?: Lasting
  readonly onEnd?: (outcome: TunnelOutcome) => void
}

export interface Lasting {
  /** Clients: no connection uses the wire now. Call `next`, or `close('done')`. */
  readonly onRest?: () => void
  /** Servers: the client requests another connection. Call `attach` with it, or `close` with the reason why there is none. */
  readonly onNext?: () => void
}
